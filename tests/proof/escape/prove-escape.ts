import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { endOnInterruption } from '../../system/support/interruption';
import { withSystemStack } from '../../system/support/with-stack';
import { escapeConversation, runEscape } from './run-escape';
import { escapeTable, holesIn } from './table';

/** A stack of its own with a scripted model, one run of the real agent program, the table. Answers the exit code. */
export async function proveEscape(say: (text: string) => void, print: (text: string) => void, json: boolean): Promise<number> {
  const source = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-escape-'));
  const canaries = { DATABASE_URL: 'postgres://canary', FUTURE_SECRET_X: 'canary2' };
  const remove = (): void => fs.rmSync(source, { recursive: true, force: true });
  const forget = endOnInterruption(async () => remove());
  try {
    say('starting a stack');
    const choice = { script: { conversations: [escapeConversation] }, sources: [source], environment: canaries };
    return await withSystemStack(choice, async (stack) => {
      say('running the attempts in a run of the real agent program');
      const { rows, runId } = await runEscape(stack, source, canaries);
      const holes = holesIn(rows);
      print(json ? JSON.stringify({ runId, rows, holes: holes.length }) : escapeTable(rows));
      return holes.length === 0 ? 0 : 1;
    });
  } finally {
    remove();
    forget();
  }
}
