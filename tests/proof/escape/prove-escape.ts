import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { endOnInterruption } from '../../system/support/interruption';
import { withSystemStack } from '../../system/support/with-stack';
import { escapeConversation, escapeResponses, runEscape } from './run-escape';
import { escapeTable, holesIn } from './table';

const programs = ['claude-agent-sdk', 'codex'] as const;

/** A stack of its own with a scripted model, one run of each real agent program, a table of each. Answers the exit code. */
export async function proveEscape(say: (text: string) => void, print: (text: string) => void, json: boolean): Promise<number> {
  const source = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-escape-'));
  const canaries = { DATABASE_URL: 'postgres://canary', FUTURE_SECRET_X: 'canary2' };
  const remove = (): void => fs.rmSync(source, { recursive: true, force: true });
  const forget = endOnInterruption(async () => remove());
  try {
    say('starting a stack');
    const choice = {
      script: { conversations: [escapeConversation] },
      responses: escapeResponses,
      sources: [source],
      environment: canaries,
    };
    return await withSystemStack(choice, async (stack) => {
      let holes = 0;
      for (const harness of programs) {
        say(`running the attempts in a run of ${harness}`);
        const { rows, runId } = await runEscape(stack, source, canaries, harness);
        const found = holesIn(rows).length;
        holes += found;
        print(json ? JSON.stringify({ harness, runId, rows, holes: found }) : `from a command of ${harness}\n\n${escapeTable(rows)}\n`);
      }
      return holes === 0 ? 0 : 1;
    });
  } finally {
    remove();
    forget();
  }
}
