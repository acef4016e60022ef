import { type PolicyDocument, type PolicyView, Problem } from '@fluidbox/contracts';
import { findVersion, newestVersion, type PolicyState, type PolicyVersion, policyFold, policyView } from '../domain/policy';
import type { Ports } from './ports';
import { policyStream } from './streams';

const policyState = async (ports: Ports, org: string, name: string): Promise<PolicyState> =>
  (await ports.ledger.state(policyFold, policyStream(org, name), { fresh: true })).state;

export const policyExists = async (ports: Ports, org: string, name: string): Promise<boolean> =>
  newestVersion(await policyState(ports, org, name)) !== undefined;

export async function getPolicy(ports: Ports, request: { org: string; name: string; version: number | null }): Promise<PolicyView> {
  const version = findVersion(await policyState(ports, request.org, request.name), request.version);
  if (version === undefined)
    throw new Problem('not_found', `there is no policy ${request.name}${request.version === null ? '' : ` version ${request.version}`}`);
  return { ...policyView(request.name, version), source: await sourceOf(ports, request.name, version) };
}

export async function listPolicies(ports: Ports, request: { org: string }): Promise<Omit<PolicyView, 'source'>[]> {
  const names = await ports.names.list(request.org, 'policy');
  const newest = await Promise.all(
    names.map(async (name) => ({ name, version: newestVersion(await policyState(ports, request.org, name)) })),
  );
  return newest.flatMap(({ name, version }) => (version === undefined ? [] : [policyView(name, version)]));
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

async function sourceOf(ports: Ports, name: string, version: PolicyVersion): Promise<string> {
  const bytes = await ports.ledger.store.document(version.sourceDigest);
  if (bytes === null)
    throw new Problem('internal', `the source of policy ${name} version ${version.version} is missing from ledger.documents`);
  return bytes.toString('utf8');
}
