import { type ImportPolicyBody, type PolicyView, type Principal, Problem } from '@fluidbox/contracts';
import { sha256Hex } from '@fluidbox/seal';
import { type Author, decidePublish, newestVersion, policyFold } from '../domain/policy';
import type { Ports } from './ports';
import { getPolicy } from './read-policy';
import { policyStream } from './streams';

export async function importPolicy(
  ports: Ports,
  request: { principal: Principal; name: string; body: ImportPolicyBody },
): Promise<PolicyView> {
  const { principal, name, body } = request;
  const appended = await publishPolicy(ports, {
    org: principal.org,
    name,
    author: { by: principal.name, actor: `principal:${principal.name}` },
    body,
  });
  return { ...(await getPolicy(ports, { org: principal.org, name, version: null })), appended };
}

/** True when a version was added; false when the newest already has these bytes. */
export async function publishPolicy(
  ports: Ports,
  request: { org: string; name: string; author: Author; body: ImportPolicyBody; onlyIfAbsent?: boolean },
): Promise<boolean> {
  const { org, name, body } = request;
  const parsed = ports.policies.parse(body.source);
  if (!parsed.ok) throw refusedSource(parsed.problems);
  if (parsed.document.name !== name) throw refusedSource([`name is ${parsed.document.name} in the document and ${name} in the request`]);
  const failed = ports.policies.failedTests(parsed.document);
  if (failed.length > 0) throw refusedSource(failed);
  const source = Buffer.from(body.source, 'utf8');
  const policy = { name, digest: parsed.digest, sourceDigest: sha256Hex(source) };
  return ports.ledger.decide(policyFold, policyStream(org, name), (state) => {
    if (request.onlyIfAbsent === true && newestVersion(state) !== undefined) return { events: [], result: false };
    const events = decidePublish(state, policy, body, request.author);
    if (events instanceof Problem) throw events;
    return { events, result: events.length > 0, documents: [source] };
  });
}

function refusedSource(details: readonly string[]): Problem {
  const errors = details.slice(0, 16).map((detail) => ({ pointer: '/source', detail }));
  return new Problem('unprocessable', `/source: ${details[0] ?? 'does not parse'}`, { errors });
}
