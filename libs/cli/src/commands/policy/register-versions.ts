import { type Command, Option } from 'commander';
import { exitCodes } from '../../exit-codes';
import { CommandFailure } from '../../failure';
import { readNamedText } from '../../named-file';
import { call, onFiles } from '../calling';
import { whole, wholeOrZero } from '../option-values';
import { withJson } from '../options';
import { convertPolicy, type ImportOptions, importFormats } from './import-policy';
import { decideProposalCommand, proposalCommand, proposalsCommand } from './proposals';
import {
  clonePolicyCommand,
  deletePolicyCommand,
  exportPolicyCommand,
  getPolicyCommand,
  importAndPublish,
  importPolicyCommand,
  listPoliciesCommand,
  policyHistoryCommand,
  publishPolicyFile,
  revertPolicyCommand,
} from './versions';

const publishHelp = `
Ends with 5 when the policy asks for a second person (publish.second_person): it is proposed then, and the old version still governs.`;

type Said = { summary?: string; baseVersion?: number; json?: boolean };
type Imported = Omit<ImportOptions, 'format'> & Partial<Pick<ImportOptions, 'format'>> & Said & { publish?: boolean };

/** Policies that a stack keeps: their versions, and who let one in. */
export function registerPolicyVersions(policy: Command): void {
  registerReading(policy);
  registerPublishing(policy);
  registerProposals(policy);
}

function registerReading(policy: Command): void {
  withJson(policy.command('list'))
    .description('policies, each in its newest version')
    .action((options: { json?: boolean }) => call(options.json, listPoliciesCommand));
  withJson(policy.command('get <name>'))
    .description('print a policy as it was written')
    .option('--version <n>', 'default: newest', whole)
    .action((name: string, options: { json?: boolean; version?: number }) =>
      call(options.json, (api, output) => getPolicyCommand(api, name, options.version, output)),
    );
  withJson(policy.command('history <name>'))
    .description('its versions, newest first; also of a policy that was deleted')
    .action((name: string, options: { json?: boolean }) => call(options.json, (api, output) => policyHistoryCommand(api, name, output)));
  policy
    .command('export <name>')
    .description('the bytes of a version as they were published')
    .option('--version <n>', 'default: newest', whole)
    .option('-o, --out <path>', 'write them there instead of to stdout')
    .action((name: string, options: { version?: number; out?: string }) =>
      call(undefined, (api, output) => exportPolicyCommand(api, name, options, output)),
    );
}

function registerPublishing(policy: Command): void {
  withJson(policy.command('publish <file>'))
    .description('add a version of the policy that the file names; its own tests have to pass')
    .option('--summary <text>', 'what changed')
    .option('--base-version <n>', 'refuse when another version is newest; 0: when there is one', wholeOrZero)
    .addHelpText('after', publishHelp)
    .action((file: string, options: Said) => {
      // Before anything is started: a file that is no policy needs no stack to be refused.
      const publish = publishPolicyFile(file);
      return call(options.json, (api, output) => publish(api, options, output));
    });
  withJson(policy.command('import'))
    .description('add a version under a name. With --format: write one out of other rules, and add nothing (but with --publish)')
    .requiredOption('--name <name>', 'policy to add it to, or a new one')
    .requiredOption('--file <path>', 'the document; `-` reads stdin')
    .option('--summary <text>', 'what changed')
    .option('--base-version <n>', 'refuse when another version is newest; 0: when there is one', wholeOrZero)
    .addOption(
      new Option(
        '--format <format>',
        'the file is a settings.json of Claude Code, a .rules of Codex or a policy of the public fluidbox',
      ).choices(importFormats),
    )
    .option('--config <path>', 'with --format codex: its config.toml')
    .option('-o, --out <path>', 'with --format: write the policy there instead of to stdout')
    .option('--publish', 'with --format: publish it at once, unless it came out wider than its source')
    .addHelpText('after', publishHelp)
    .action((options: Imported) => {
      const { format, publish, json } = options;
      if (publish === true && (format === undefined || options.out !== undefined))
        throw new CommandFailure('--publish goes with --format and without --out', exitCodes.usage);
      if (options.out !== undefined && format === undefined)
        throw new CommandFailure('--out goes with --format: without it the document itself is published', exitCodes.usage);
      if (options.config !== undefined && format !== 'codex')
        throw new CommandFailure('--config goes with --format codex: it is the config.toml of Codex', exitCodes.usage);
      if (format !== undefined && publish === true) {
        const work = importAndPublish({ ...options, format });
        return call(json, (api, output) => work(api, options, output));
      }
      if (format !== undefined) return onFiles(json, (output) => convertPolicy({ ...options, format }, output));
      // Before anything is started: a wrong path needs no stack to be refused.
      const source = readNamedText(options.file, '--file');
      return call(json, (api, output) => importPolicyCommand(api, { ...options, source }, output));
    });
  withJson(policy.command('revert <name>'))
    .description('publish the bytes of an old version as the newest')
    .requiredOption('--to <n>', 'the old version', whole)
    .option('--summary <text>', 'why')
    .option('--base-version <n>', 'refuse when another version is newest', whole)
    .addHelpText('after', publishHelp)
    .action((name: string, options: Said & { to: number }) =>
      call(options.json, (api, output) => revertPolicyCommand(api, name, options, output)),
    );
  withJson(policy.command('clone <name> <new>'))
    .description('publish its text under another name; comments stay')
    .option('--version <n>', 'default: newest', whole)
    .option('--summary <text>', 'what for')
    .action((name: string, clone: string, options: { json?: boolean; version?: number; summary?: string }) =>
      call(options.json, (api, output) => clonePolicyCommand(api, [name, clone], options, output)),
    );
  withJson(policy.command('delete <name>'))
    .description('free a name that no agent names; its versions stay readable, and runs keep theirs')
    .action((name: string, options: { json?: boolean }) => call(options.json, (api, output) => deletePolicyCommand(api, name, output)));
}

function registerProposals(policy: Command): void {
  withJson(policy.command('proposals [name]'))
    .description('versions that wait for a second person')
    .option('--closed', 'those that were decided or became stale, too')
    .action((name: string | undefined, options: { json?: boolean; closed?: boolean }) =>
      call(options.json, (api, output) => proposalsCommand(api, name, options, output)),
    );
  withJson(policy.command('proposal <name> <id>'))
    .description('what is proposed, why it needs a second person, and its text')
    .action((name: string, id: string, options: { json?: boolean }) =>
      call(options.json, (api, output) => proposalCommand(api, name, id, output)),
    );
  for (const decision of ['approve', 'reject'] as const)
    withJson(policy.command(`${decision} <name> <id>`))
      .description(decision === 'approve' ? 'publish what another admin proposed' : 'close a proposal unpublished; your own is withdrawn')
      .action((name: string, id: string, options: { json?: boolean }) =>
        call(options.json, (api, output) => decideProposalCommand(api, [name, id], decision, output)),
      );
}
