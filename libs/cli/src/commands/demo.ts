import fs from 'node:fs';
import path from 'node:path';
import { type HarnessId, isHarnessId } from '@fluidbox/contracts';
import type { Command } from 'commander';
import { ApiClient } from '../api/client';
import { runDemo, sampleRepository, sampleTask } from '../demo/run-demo';
import { CommandFailure } from '../failure';
import { withLocalStack } from '../local-stack';
import { standardOutput } from '../output';
import { missingKey } from '../stand-in-model';

interface DemoFlags {
  readonly harness: string;
  readonly yes?: boolean;
  readonly json?: boolean;
  readonly repo?: string;
  readonly task?: string;
}

/** `npm run demo`: a real agent fixes a real repository under the gate. Exit code by outcome, never 0 after a failed run. */
export function registerDemo(program: Command): void {
  program
    .command('demo')
    .description('a governed run from start to end: a real agent fixes a failing test, one call waits for a person')
    .option('--harness <id>', 'the agent harness: claude-agent-sdk or codex', 'claude-agent-sdk')
    .option('--yes', 'decide the waiting call with an approver’s token through the public API')
    .option('--json', 'print one object as the last line of stdout; the timeline goes to stderr')
    .option('--repo <path>', 'work on a copy of this folder (needs --task and a model key)')
    .option('--task <text>', 'what the agent shall do')
    .action(async (flags: DemoFlags) => {
      const repo = path.resolve(flags.repo ?? sampleRepository);
      const harness = checkFlags(flags, repo);
      const output = standardOutput(flags.json === true, flags.json === true ? 'stderr' : 'stdout');
      const code = await withLocalStack(
        ({ up }) => {
          const api = new ApiClient({ url: up.public_url, token: fs.readFileSync(up.files.admin_token, 'utf8').trim() });
          const options = { harness, yes: flags.yes === true, repo, task: flags.task ?? sampleTask };
          return runDemo(api, up.public_url, options, output, process.stdin);
        },
        { sources: [repo], harness },
      );
      if (code !== 0) throw new CommandFailure('', code);
    });
}

function checkFlags(flags: DemoFlags, repo: string): HarnessId {
  const { harness } = flags;
  if (!isHarnessId(harness) || harness === 'scripted') throw new CommandFailure('--harness must be claude-agent-sdk or codex', 2);
  if ((flags.repo === undefined) !== (flags.task === undefined))
    throw new CommandFailure('--repo and --task go together: the folder and what to do in it', 2);
  if (!fs.statSync(repo, { throwIfNoEntry: false })?.isDirectory()) throw new CommandFailure(`--repo ${repo}: no such folder`, 2);
  const key = missingKey(process.env, harness);
  if (flags.task !== undefined && key !== null)
    throw new CommandFailure(`--task needs a real model: set ${key} (the scripted stand-in only knows the bundled task)`, 2);
  return harness;
}
