import { type PolicyDocument, type PolicyView, Problem } from '@fluidbox/contracts';
import { findVersion, newestVersion, type PolicyState, type PolicyVersion, policyFold, policyView } from '../domain/policy';
import type { Ports } from './ports';
import { policyStream } from './streams';

export const policyState = async (ports: Ports, org: string, name: string): Promise<PolicyState> =>
  (await ports.ledger.state(policyFold, policyStream(org, name), { fresh: true })).state;

export const policyExists = async (ports: Ports, org: string, name: string): Promise<boolean> =>
  newestVersion(await policyState(ports, org, name)) !== undefined;

export async function getPolicy(ports: Ports, request: { org: string; name: string; version: number | null }): Promise<PolicyView> {
  const version = await knownVersion(ports, request.org, request.name, request.version);
  return { ...policyView(request.name, version), source: await sourceOf(ports, request.name, version) };
}

/** The text of a version, or of the newest. */
export const versionSource = async (ports: Ports, org: string, name: string, version: number | null): Promise<string> =>
  sourceOf(ports, name, await knownVersion(ports, org, name, version));

async function knownVersion(ports: Ports, org: string, name: string, number: number | null): Promise<PolicyVersion> {
  const version = findVersion(await policyState(ports, org, name), number);
  if (version === undefined) throw new Problem('not_found', `there is no policy ${name}${number === null ? '' : ` version ${number}`}`);
  return version;
}

export async function listPolicies(ports: Ports, request: { org: string }): Promise<Omit<PolicyView, 'source'>[]> {
  const names = await ports.names.list(request.org, 'policy');
  const newest = await Promise.all(
    names.map(async (name) => ({ name, version: newestVersion(await policyState(ports, request.org, name)) })),
  );
  return newest.flatMap(({ name, version }) => (version === undefined ? [] : [policyView(name, version)]));
}

/** Newest first; also of a name that was deleted. */
export async function listPolicyVersions(
  ports: Ports,
  { org, name }: { org: string; name: string },
): Promise<Omit<PolicyView, 'source'>[]> {
  const state = await policyState(ports, org, name);
  if (state.status === 'absent') throw new Problem('not_found', `there is no policy ${name}`);
  return state.versions.map((version) => policyView(name, version)).reverse();
}

/** The newest version in full, parsed from its stored source: what a run freezes. */
export async function publishedPolicy(
  ports: Ports,
  org: string,
  name: string,
): Promise<{ name: string; version: number; digest: string; source: string; document: PolicyDocument } | undefined> {
  const version = newestVersion(await policyState(ports, org, name));
  if (version === undefined) return undefined;
  const source = await sourceOf(ports, name, version);
  const parsed = ports.policies.parse(source);
  if (!parsed.ok)
    throw new Problem('internal', `policy ${name} version ${version.version} no longer parses: ${parsed.problems[0] ?? 'unknown reason'}`);
  return { name, version: version.version, digest: version.digest, source, document: parsed.document };
}

export const sourceOf = (ports: Ports, name: string, version: PolicyVersion): Promise<string> =>
  documentText(ports, version.sourceDigest, `policy ${name} version ${version.version}`);

export async function documentText(ports: Ports, digest: string, of: string): Promise<string> {
  const bytes = await ports.ledger.store.document(digest);
  if (bytes === null) throw new Problem('internal', `the source of ${of} is missing from ledger.documents`);
  return bytes.toString('utf8');
}
