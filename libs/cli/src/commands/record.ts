import type { Command } from 'commander';
import { checkErase, eraseCommand, exportCommand, type VerifyOptions, verifyCommand } from './bundles';
import { call, onFiles } from './calling';
import { listKeysCommand, rotateKeysCommand } from './keys';
import { thumbprint } from './option-values';
import { withJson } from './options';

const verifyHelp = `
Exit codes: 0 verified · 1 tampered (the first wrong event is named) · 3 self-consistent, signer not pinned · 5 intact, but not the whole run

Example:
  npm run -s fluidbox -- export RUN -o run.jsonl
  npm run -s fluidbox -- verify run.jsonl --keys ledger-keys.json`;

const collect = (value: string, known: readonly string[] | undefined): readonly string[] => [...(known ?? []), value];
const collectThumbprints = (value: string, known: readonly string[] | undefined): readonly string[] => collect(thumbprint(value), known);

/** The record of a run: take it along, check it, destroy what is not part of it, and the keys that sign it. */
export function registerRecord(program: Command): void {
  withJson(program.command('export <run>'))
    .description('write the record of a run to a file that anybody can check')
    .requiredOption('-o, --out <file>', 'where to; `-` is stdout')
    .action((run: string, options: { out: string; json?: boolean }) =>
      call(options.json, (api, output) => exportCommand(api, run, options, output, (bytes) => void process.stdout.write(bytes))),
    );
  withJson(program.command('verify <bundle>'))
    .description('check an exported record offline: every event, every signature')
    .option('--keys <file>', 'public keys you trust (JWKS; default: those of this folder’s deployment)')
    .option('--signer <thumbprint>', 'a key you trust, by its thumbprint; may be given again', collectThumbprints)
    .option('--witness <file>', 'heads of the run that somebody else kept, one JWS a line')
    .option('--artifact <file>', 'a file that must be an artifact of the run; may be given again', collect)
    .option('--partial', 'accept a record that is signed up to some event before the end')
    .addHelpText('after', verifyHelp)
    .action((bundle: string, options: VerifyOptions & { json?: boolean }) =>
      onFiles(options.json, (output) => verifyCommand(bundle, options, output)),
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
    .action(({ json }: { json?: boolean }) => onFiles(json, listKeysCommand));
  withJson(keys.command('rotate'))
    .description('sign with a new key from the next start on; while no stack runs')
    .action(({ json }: { json?: boolean }) => onFiles(json, rotateKeysCommand));
}
