import { type ClonePolicyBody, Problem, type PublishedPolicy } from '@fluidbox/contracts';
import { canonicalJson } from '@fluidbox/redaction';
import { newestVersion } from '../domain/policy';
import { renamed } from '../domain/rename';
import type { Ports } from './ports';
import { importPolicy, type Publisher } from './publish-policy';
import { policyState, versionSource } from './read-policy';

/** The text under another name: only the name is rewritten, comments stay. A name that is taken is refused; one that was deleted keeps its gate. */
export async function clonePolicy(
  ports: Ports,
  request: Publisher & { readonly name: string; readonly body: ClonePolicyBody },
): Promise<PublishedPolicy> {
  const { name, body, principal } = request;
  const source = await versionSource(ports, principal.org, name, body.from_version ?? null);
  if (newestVersion(await policyState(ports, principal.org, body.name)) !== undefined)
    throw new Problem('conflict', `policy ${body.name} exists; choose another name, or publish over it`);
  const summary = body.summary ?? `cloned from ${name}${body.from_version === undefined ? '' : ` version ${body.from_version}`}`;
  return importPolicy(ports, {
    ...request,
    name: body.name,
    body: { source: withName(ports, source, body.name), summary, base_version: 0 },
  });
}

function withName(ports: Ports, source: string, name: string): string {
  const before = ports.policies.parse(source);
  const text = before.ok ? renamed(source, before.namePlace, name) : null;
  const after = text === null ? null : ports.policies.parse(text);
  // Only the name may be another one now.
  if (text !== null && before.ok && after?.ok === true && canonicalJson({ ...before.document, name }) === canonicalJson(after.document))
    return text;
  throw new Problem('unprocessable', `/name: the name cannot be rewritten where it stands; export the policy, rename it and publish it`, {
    errors: [{ pointer: '/name', detail: 'the name cannot be rewritten where it stands' }],
  });
}
