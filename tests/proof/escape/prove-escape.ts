import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startSystemStack } from '../../system/support/stack';
import { stopOnInterruption } from '../interruption';
import { escapeConversation, runEscape } from './run-escape';
import { escapeTable, holesIn } from './table';

/** A stack of its own with a scripted model, one run of the real agent program, the table. Answers the exit code. */
export async function proveEscape(say: (text: string) => void, print: (text: string) => void, json: boolean): Promise<number> {
  const source = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-escape-'));
  const canaries = { DATABASE_URL: 'postgres://canary', FUTURE_SECRET_X: 'canary2' };
  try {
    say('starting a stack');
    const stack = await startSystemStack({ script: { conversations: [escapeConversation] }, sources: [source], environment: canaries });
    const stopOn = stopOnInterruption(() => stack.stop());
    try {
      say('running the attempts in a run of the real agent program');
      const { rows, runId } = await runEscape(stack, source, canaries);
      const holes = holesIn(rows);
      print(json ? JSON.stringify({ runId, rows, holes: holes.length }) : escapeTable(rows));
      return holes.length === 0 ? 0 : 1;
    } finally {
      stopOn.dispose();
      await stack.stop();
    }
  } finally {
    fs.rmSync(source, { recursive: true, force: true });
  }
}
