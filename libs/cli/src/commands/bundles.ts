import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { homeFolder, homeLayout, secretFiles } from '@fluidbox/embedded';
import { type KeySet, keySetOf, type Report, type Trust, type Verdict, verifyBundle } from '@fluidbox/verifier';
import type { ApiClient } from '../api/client';
import { exitCodes } from '../exit-codes';
import { CommandFailure } from '../failure';
import { readNamedBytes, readNamedText, writeNamedFile } from '../named-file';
import type { Output } from '../output';
import { oneLine, plain } from '../paint';

/** Exit codes of `verify`: a script that asks for 0 gets a whole, signed, unchanged run and nothing less. */
const exitCodeOf: Readonly<Record<Verdict, number>> = {
  verified: exitCodes.ok,
  tampered: exitCodes.run_failed,
  unpinned: 3,
  incomplete: exitCodes.refused,
};

/** Writes the bundle of a run and says what is in it. The trust of whoever gets it is theirs, so none is claimed here. */
export async function exportCommand(
  api: ApiClient,
  run: string,
  options: { out: string },
  output: Output,
  toStdout: (bytes: Buffer) => void,
): Promise<number> {
  const bundle = await api.bundle(run);
  if (options.out === '-') toStdout(bundle);
  else writeNamedFile(options.out, '--out', bundle);
  const report = verifyBundle(bundle, null);
  if (report.finding !== null) {
    output.err(`this record does not agree with itself: ${findingText(report.finding)}`);
    return exitCodes.run_failed;
  }
  const file = options.out === '-' ? null : options.out;
  if (output.json && file !== null) output.out(JSON.stringify({ file, bytes: bundle.length, ...report }));
  else
    output.err(`${report.events} events, ${signedText(report)}${file === null ? '' : `; check it: npm run -s fluidbox -- verify ${file}`}`);
  return exitCodes.ok;
}

export interface VerifyOptions {
  readonly keys?: string;
  readonly signer?: readonly string[];
  readonly witness?: string;
  readonly artifact?: readonly string[];
  readonly partial?: boolean;
}

/** Judges a bundle offline: no stack, no network. */
export function verifyCommand(file: string, options: VerifyOptions, output: Output): number {
  const bundle = readNamedBytes(file, 'bundle');
  const { trust, from } = trustOf(options);
  const report = verifyBundle(bundle, trust, options.witness === undefined ? undefined : witnessedHeads(options.witness));
  const strangers = report.finding === null ? strangeFiles(report, options.artifact ?? []) : [];
  const accepted = report.verdict === 'incomplete' && options.partial === true && report.signedTo > 0;
  const code = strangers.length > 0 ? exitCodes.run_failed : accepted ? exitCodes.ok : exitCodeOf[report.verdict];
  if (output.json) output.out(JSON.stringify({ ...report, trusted: from, strangers }));
  else
    for (const line of [...strangers.map((each) => `NOT AN ARTIFACT  ${each}: the run signed no such bytes`), ...reportLines(report, from)])
      output.out(line);
  return code;
}

/** A file of something else says nothing about the run: it must not look as if the record were wrong. */
function witnessedHeads(file: string): string {
  const text = readNamedText(file, '--witness');
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  if (lines.length > 0 && !lines.some((line) => line.startsWith('{') || /^[\w-]+\.[\w-]+\.[\w-]+$/.test(line)))
    throw new CommandFailure(
      `--witness ${file}: holds no head; one stands on a line, a compact JWS or an object with a member jws`,
      exitCodes.usage,
    );
  return text;
}

/** Whom to trust comes from the caller, or from the deployment of this folder; never from the bundle. */
function trustOf({ keys, signer }: VerifyOptions): { trust: Trust; from: string | null } {
  if (keys !== undefined && signer !== undefined) throw new CommandFailure('--keys and --signer exclude each other', exitCodes.usage);
  if (signer !== undefined) return { trust: { signers: signer }, from: 'the signers named' };
  if (keys !== undefined) return { trust: { keys: parsedKeys(readNamedText(keys, '--keys'), keys) }, from: keys };
  const own = secretFiles(homeLayout(homeFolder()).secrets).ledgerPublicKeys;
  if (!fs.existsSync(own)) return { trust: null, from: null };
  return { trust: { keys: parsedKeys(readNamedText(own, 'public keys'), own) }, from: own };
}

function parsedKeys(text: string, file: string): KeySet {
  try {
    return keySetOf(text);
  } catch (cause) {
    throw new CommandFailure(
      oneLine(`${file} is not a set of public keys (JWKS): ${cause instanceof Error ? cause.message : String(cause)}`, saidCharsMax),
      exitCodes.usage,
    );
  }
}

/** What is not signed yet vouches for nothing: whoever handed the bundle over may have added it. */
const strangeFiles = (report: Report, files: readonly string[]): string[] =>
  files.filter((file) => {
    const digest = `sha256:${createHash('sha256').update(readNamedBytes(file, '--artifact')).digest('hex')}`;
    return !report.artifacts.some(({ sha256, seq }) => sha256 === digest && seq <= report.signedTo);
  });

/** What is said quotes the file: however long and whatever is in it, it must not look like a line of ours. */
const saidCharsMax = 300;
const findingText = ({ seq, line, what }: NonNullable<Report['finding']>): string =>
  `${seq === null || what.startsWith(`event ${seq} `) ? '' : `event ${seq}: `}${oneLine(what, saidCharsMax)}${line === null ? '' : ` (line ${line})`}`;

function signedText({ complete, signedTo, events }: Report): string {
  if (complete) return 'signed to its end';
  if (signedTo === 0) return 'nothing of it is signed yet';
  return signedTo === events
    ? `signed to event ${signedTo}`
    : `signed to event ${signedTo}, events ${signedTo + 1} to ${events} are unsigned`;
}

function reportLines(report: Report, from: string | null): string[] {
  const { verdict, finding, stream } = report;
  const about = `${stream === null ? 'this file' : plain(stream.replace('-', ' '))}: `;
  if (finding !== null) return [`TAMPERED  ${about}${findingText(finding)}`];
  const signers = report.signers.map((kid) => `  signer    ${kid}`);
  const artifacts = report.artifacts.map(
    ({ kind, sha256, seq }) => `  ${oneLine(kind, 20).padEnd(9)} ${oneLine(sha256, 80)}${seq > report.signedTo ? ' (unsigned)' : ''}`,
  );
  const witnessed =
    report.witnessed === null ? [] : [`  witnessed ${report.witnessed === 0 ? 'nothing of this run' : `to event ${report.witnessed}`}`];
  const notes = report.notes.map((each) => `  note      ${each}`);
  const lines = [`${about}${report.events} events, ${signedText(report)}`, ...signers, ...artifacts, ...witnessed, ...notes];
  switch (verdict) {
    case 'verified':
      return [`verified  ${lines[0]}`, ...lines.slice(1), `  trusted   ${from}`];
    case 'incomplete':
      return [
        `NOT COMPLETE  ${lines[0]}; the signed end of the run is missing (${report.signedTo === 0 ? 'export it again when the run has ended' : '--partial accepts that'})`,
        ...lines.slice(1),
        `  trusted   ${from}`,
      ];
    default:
      return [
        `self-consistent, signer not pinned: anybody can make such a file; say whom you trust with --keys FILE or --signer THUMBPRINT`,
        ...lines,
      ];
  }
}

/** Before a stack is asked: what is destroyed here comes back from nowhere. */
export function checkErase(options: { content?: boolean }): void {
  if (options.content !== true)
    throw new CommandFailure(
      'say what to erase: --content destroys task, messages, tool inputs and files of the run for ever; its record stays',
      exitCodes.usage,
    );
}

export async function eraseCommand(api: ApiClient, run: string, output: Output): Promise<number> {
  const erased = await api.erase(run);
  output.out(
    output.json
      ? JSON.stringify(erased)
      : `content of ${run} was erased at ${erased.erased_at} by ${erased.erased_by}; its record stays verifiable`,
  );
  return exitCodes.ok;
}
