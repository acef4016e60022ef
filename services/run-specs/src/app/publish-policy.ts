import { type ImportPolicyBody, type Principal, Problem, type PublishedPolicy, type TokenMakers } from '@fluidbox/contracts';
import { sha256Hex } from '@fluidbox/seal';
import { type Author, decidePublish, findVersion, lastVersion, type ParsedPolicy, type PolicyState, policyFold } from '../domain/policy';
import type { Ports } from './ports';
import { getPolicy, policyState } from './read-policy';
import { proposalView } from './read-proposals';
import { refusedSource } from './refused-source';
import { secondPersonNeeded } from './second-person';
import { policyStream } from './streams';

export interface Publisher {
  readonly principal: Principal;
  readonly made_by?: TokenMakers | undefined;
}
export const authorOf = ({ principal, made_by }: Publisher): Author => ({
  by: principal.name,
  actor: `principal:${principal.name}`,
  madeBy: made_by ?? null,
});

/** A version that governs new runs from now on, or a proposal that waits for a second person. */
export async function importPolicy(
  ports: Ports,
  request: Publisher & { readonly name: string; readonly body: ImportPolicyBody },
): Promise<PublishedPolicy> {
  const { principal, name, body } = request;
  const { appended, sourceDigest } = await publishPolicy(ports, { org: principal.org, name, author: authorOf(request), body });
  const state = await policyState(ports, principal.org, name);
  if (appended === 'proposed' && state.status === 'known') {
    // Asked twice, the first one waits.
    const proposal = state.proposals.findLast((each) => each.sourceDigest === sourceDigest);
    if (proposal !== undefined) return { proposal: proposalView(state, proposal, body.source) };
  }
  return { ...(await getPolicy(ports, { org: principal.org, name, version: null })), appended: appended === true };
}

const triesMax = 5;

/** `appended`: true when a version was added, `proposed` when it waits, false when the newest already has these bytes. */
export async function publishPolicy(
  ports: Ports,
  request: {
    readonly org: string;
    readonly name: string;
    readonly author: Author;
    readonly body: ImportPolicyBody;
    readonly onlyIfAbsent?: boolean;
  },
): Promise<{ readonly appended: boolean | 'proposed'; readonly sourceDigest: string }> {
  const { org, name, body, author } = request;
  const parsed = ports.policies.parse(body.source);
  if (!parsed.ok) throw refusedSource(parsed.problems);
  if (parsed.document.name !== name) throw refusedSource([`name is ${parsed.document.name} in the document and ${name} in the request`]);
  const failed = ports.policies.failedTests(parsed.document);
  if (failed.length > 0) throw refusedSource(failed);
  const source = Buffer.from(body.source, 'utf8');
  const policy: ParsedPolicy = { name, digest: parsed.digest, sourceDigest: sha256Hex(source) };
  for (let tries = 0; tries < triesMax; tries++) {
    const state = await policyState(ports, org, name);
    // A seed that somebody changed or deleted never comes back.
    if (request.onlyIfAbsent === true && state.status === 'known') return { appended: false, sourceDigest: policy.sourceDigest };
    const base = lastVersion(state);
    // What would be refused or change nothing needs no look at the history.
    const settled = decidePublish(state, policy, body, author);
    if (settled instanceof Problem) throw settled;
    const needed = base === undefined || settled.length === 0 ? null : await secondPersonNeeded(ports, org, name, base, parsed);
    const appended = await ports.ledger.decide<PolicyState, boolean | 'proposed' | 'moved'>(
      policyFold,
      policyStream(org, name),
      (current) => {
        // It was compared with a version that is no longer the last.
        if (lastVersion(current)?.version !== base?.version) return { events: [], result: 'moved' };
        const events = decidePublish(current, policy, body, author, needed);
        if (events instanceof Problem) throw events;
        return { events, result: needed === null ? events.length > 0 : 'proposed', documents: [source] };
      },
    );
    if (appended !== 'moved') return { appended, sourceDigest: policy.sourceDigest };
  }
  throw new Problem('conflict', `others publish ${name} at the same moment; read it and publish again`);
}

/** The bytes of an old version once more, as the newest: through the same gate as any other change. */
export async function revertPolicy(
  ports: Ports,
  request: Publisher & {
    readonly name: string;
    readonly body: { readonly version: number; readonly summary?: string | undefined; readonly base_version?: number | undefined };
  },
): Promise<PublishedPolicy> {
  const { name, body, principal } = request;
  if (findVersion(await policyState(ports, principal.org, name), body.version) === undefined)
    throw new Problem('not_found', `there is no policy ${name} version ${body.version}`);
  const { source } = await getPolicy(ports, { org: principal.org, name, version: body.version });
  const base = body.base_version === undefined ? {} : { base_version: body.base_version };
  return importPolicy(ports, { ...request, body: { source, summary: body.summary ?? `revert to version ${body.version}`, ...base } });
}
