import type { Command } from 'commander';
import { CommandFailure } from '../failure';
import { type Output, standardOutput } from '../output';
import { call } from './api-commands';
import { checkErase, eraseCommand, exportCommand, type VerifyOptions, verifyCommand } from './bundles';
import { listKeysCommand, rotateKeysCommand } from './keys';
import { withJson } from './options';

const verifyHelp = `
Exit codes: 0 verified · 1 tampered (the first wrong event is named) · 3 self-consistent, signer not pinned · 5 intact, but not the whole run

Example:
  npm run -s fluidbox -- export RUN -o run.jsonl
  npm run -s fluidbox -- verify run.jsonl --keys ledger-keys.json`;

const collect = (value: string, known: readonly string[] | undefined): readonly string[] => [...(known ?? []), value];
/** Works on files alone: no stack, no network. */
const offline = (json: boolean | undefined, work: (output: Output) => number): void => {
  const code = work(standardOutput(json === true));
  if (code !== 0) throw new CommandFailure('', code);
};

/** The record of a run: take it along, check it, destroy what is not part of it, and the keys that sign it. */
export function registerRecord(program: Command): void {
  withJson(program.command('export <run>'))
    .description('write the record of a run to a file that anybody can check')
    .requiredOption('-o, --output <file>', 'where to; `-` is stdout')
    .action((run: string, options: { output: string; json?: boolean }) =>
      call(options.json, (api, output) => exportCommand(api, run, options, output, (bytes) => void process.stdout.write(bytes))),
    );
  withJson(program.command('verify <bundle>'))
    .description('check an exported record offline: every event, every signature')
    .option('--keys <file>', 'public keys you trust (JWKS; default: those of this folder’s deployment)')
    .option('--signer <thumbprint>', 'a key you trust, by its thumbprint; may be given again', collect)
    .option('--witness <file>', 'heads of the run that somebody else kept, one JWS a line')
    .option('--artifact <file>', 'a file that must be an artifact of the run; may be given again', collect)
    .option('--partial', 'accept a record that is signed up to some event before the end')
    .addHelpText('after', verifyHelp)
    .action((bundle: string, options: VerifyOptions & { json?: boolean }) =>
      offline(options.json, (output) => verifyCommand(bundle, options, output)),
    );
  withJson(program.command('erase <run>'))
    .description('destroy the content of a run that has ended, for ever; its record stays verifiable')
    .option('--content', 'task, messages, tool inputs and results, files')
    .action((run: string, options: { content?: boolean; json?: boolean }) => {
      checkErase(options);
      return call(options.json, (api, output) => eraseCommand(api, run, output));
    });
  const keys = program.command('keys').description('keys that sign the record (of the stack of this folder)');
  withJson(keys.command('list'))
    .description('thumbprints of all keys that sign or have signed')
    .action(({ json }: { json?: boolean }) => offline(json, listKeysCommand));
  withJson(keys.command('rotate'))
    .description('sign with a new key from the next start on; while no stack runs')
    .action(({ json }: { json?: boolean }) => offline(json, rotateKeysCommand));
}
