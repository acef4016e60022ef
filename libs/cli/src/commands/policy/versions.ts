import path from 'node:path';
import type { PolicyView, PublishedPolicy } from '@fluidbox/contracts';
import { lintPolicy } from '@fluidbox/policy';
import type { ApiClient } from '../../api/client';
import { exitCodes } from '../../exit-codes';
import { CommandFailure } from '../../failure';
import { writeNamedFile } from '../../named-file';
import { type Output, table } from '../../output';
import { oneLine } from '../../paint';
import { type ImportOptions, importedFrom } from './import-policy';
import { findings, openPolicyFile } from './policy-file';

interface Said {
  readonly summary?: string;
  readonly baseVersion?: number;
}
const bodyOf = ({ summary, baseVersion }: Said) => ({
  ...(summary === undefined ? {} : { summary }),
  ...(baseVersion === undefined ? {} : { base_version: baseVersion }),
});

/** Says which version governs now. A proposal governs nothing, so a script that goes on must not take it for a version. */
export function showPublished(published: PublishedPolicy, output: Output): number {
  if (output.json) output.out(JSON.stringify(published));
  if (!('proposal' in published)) {
    const { name, version, digest, appended } = published;
    if (!output.json) output.out(`${name} version ${version} ${digest}${appended === false ? ' (unchanged)' : ''}`);
    return exitCodes.ok;
  }
  const { id, policy, base_version, reasons } = published.proposal;
  if (!output.json) output.out(`proposed: ${policy} over version ${base_version}, which still governs`);
  for (const reason of reasons) output.err(`  ${oneLine(reason, 200)}`);
  output.err(
    output.paint.yellow(`  it waits for another admin: npm run -s fluidbox -- policy approve ${policy} ${id}    (or policy reject)`),
  );
  return exitCodes.refused;
}

/** A file as the next version of the policy that it names. What it says without effect is shown, and does not stop it. */
export function publishPolicyFile(file: string): (api: ApiClient, options: Said, output: Output) => Promise<number> {
  const { source, parsed } = openPolicyFile(file);
  return async (api, options, output) => {
    for (const { severity, line, column, path, message } of lintPolicy(parsed))
      if (severity !== 'note') output.err(`${file}:${line}:${column} ${output.paint.yellow(severity)} ${path} ${oneLine(message, 160)}`);
    const summary = options.summary ?? `published from ${path.basename(file)}`;
    return showPublished(await api.publishPolicy(parsed.document.name, { source, ...bodyOf({ ...options, summary }) }), output);
  };
}

export async function importPolicyCommand(
  api: ApiClient,
  options: Said & { readonly name: string; readonly source: string },
  output: Output,
): Promise<number> {
  return showPublished(await api.publishPolicy(options.name, { source: options.source, ...bodyOf(options) }), output);
}

/** Somebody else's rules as a version at once; refused where a refusal of theirs could not be carried over, because nobody would read it. */
export function importAndPublish(options: ImportOptions): (api: ApiClient, said: Said, output: Output) => Promise<number> {
  const imported = importedFrom(options);
  if (!imported.ok) throw new CommandFailure(`${options.file}: ${imported.problem}`, findings);
  const { source, notes } = imported.policy;
  const wider = notes.filter(({ outcome }) => outcome === 'wider');
  if (wider.length > 0)
    throw new CommandFailure(
      `not published, ${wider.length} refusals could not be carried over: ${wider.map(({ entry }) => oneLine(entry, 60)).join(', ')}; write it with --out, mend it and publish it`,
      findings,
    );
  return async (api, said, output) => {
    for (const { entry, outcome, why } of notes) output.err(`${outcome.padEnd(8)} ${oneLine(entry, 80)}: ${oneLine(why, 160)}`);
    const summary = said.summary ?? `imported from ${options.format}`;
    return showPublished(await api.publishPolicy(options.name, { source, ...bodyOf({ ...said, summary }) }), output);
  };
}

export async function getPolicyCommand(api: ApiClient, name: string, version: number | undefined, output: Output): Promise<number> {
  const policy = await api.policy(name, version);
  output.out(output.json ? JSON.stringify(policy) : policy.source);
  return exitCodes.ok;
}

/** The bytes as they were published. */
export async function exportPolicyCommand(
  api: ApiClient,
  name: string,
  options: { readonly version?: number; readonly out?: string },
  output: Output,
): Promise<number> {
  const policy = await api.policy(name, options.version);
  if (options.out === undefined) process.stdout.write(policy.source);
  else {
    writeNamedFile(options.out, '--out', policy.source);
    output.err(`${policy.name} version ${policy.version} is in ${options.out}`);
  }
  return exitCodes.ok;
}

function showVersions(data: readonly Omit<PolicyView, 'source'>[], output: Output): number {
  if (output.json) output.out(JSON.stringify(data));
  else
    output.out(
      table([
        ['POLICY', 'VERSION', 'BY', 'CREATED', 'SUMMARY'],
        ...data.map((policy) => [
          policy.name,
          String(policy.version),
          policy.approved_by === undefined ? policy.by : `${policy.by}, ${policy.approved_by}`,
          policy.created_at,
          oneLine(policy.summary, 60),
        ]),
      ]),
    );
  return exitCodes.ok;
}

export const listPoliciesCommand = async (api: ApiClient, output: Output): Promise<number> =>
  showVersions((await api.policies()).data, output);
export const policyHistoryCommand = async (api: ApiClient, name: string, output: Output): Promise<number> =>
  showVersions((await api.policyVersions(name)).data, output);

export async function revertPolicyCommand(
  api: ApiClient,
  name: string,
  { to, ...said }: Said & { readonly to: number },
  output: Output,
): Promise<number> {
  return showPublished(await api.revertPolicy(name, { version: to, ...bodyOf(said) }), output);
}

export async function clonePolicyCommand(
  api: ApiClient,
  [from, to]: readonly [string, string],
  options: { readonly version?: number; readonly summary?: string },
  output: Output,
): Promise<number> {
  const version = options.version === undefined ? {} : { from_version: options.version };
  const summary = options.summary === undefined ? {} : { summary: options.summary };
  return showPublished(await api.clonePolicy(from, { name: to, ...version, ...summary }), output);
}

export async function deletePolicyCommand(api: ApiClient, name: string, output: Output): Promise<number> {
  const deleted = await api.deletePolicy(name);
  output.out(
    output.json
      ? JSON.stringify(deleted)
      : `deleted ${deleted.name}; ${deleted.last_version === 1 ? 'its version stays' : `its ${deleted.last_version} versions stay`} readable`,
  );
  return exitCodes.ok;
}
