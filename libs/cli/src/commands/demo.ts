import fs from 'node:fs';
import path from 'node:path';
import type { Command } from 'commander';
import { ApiClient } from '../api/client';
import { runDemo, sampleRepository, sampleTask } from '../demo/run-demo';
import { CommandFailure } from '../failure';
import { withLocalStack } from '../local-stack';
import { standardOutput } from '../output';
import { hasProvider } from '../stand-in-model';

interface DemoFlags {
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
    .option('--yes', 'decide the waiting call with an approver’s token through the public API')
    .option('--json', 'print one object as the last line of stdout; the timeline goes to stderr')
    .option('--repo <path>', 'work on a copy of this folder (needs --task and a model key)')
    .option('--task <text>', 'what the agent shall do')
    .action(async (flags: DemoFlags) => {
      const repo = path.resolve(flags.repo ?? sampleRepository);
      checkFlags(flags, repo);
      const output = standardOutput(flags.json === true, flags.json === true ? 'stderr' : 'stdout');
      const code = await withLocalStack(
        ({ up }) => {
          const api = new ApiClient({ url: up.public_url, token: fs.readFileSync(up.files.admin_token, 'utf8').trim() });
          return runDemo(api, up.public_url, { yes: flags.yes === true, repo, task: flags.task ?? sampleTask }, output, process.stdin);
        },
        [repo],
      );
      if (code !== 0) throw new CommandFailure('', code);
    });
}

function checkFlags(flags: DemoFlags, repo: string): void {
  if ((flags.repo === undefined) !== (flags.task === undefined))
    throw new CommandFailure('--repo and --task go together: the folder and what to do in it', 2);
  if (!fs.statSync(repo, { throwIfNoEntry: false })?.isDirectory()) throw new CommandFailure(`--repo ${repo}: no such folder`, 2);
  if (flags.task !== undefined && !hasProvider(process.env))
    throw new CommandFailure('--task needs a real model: set ANTHROPIC_API_KEY (the scripted stand-in only knows the bundled task)', 2);
}
