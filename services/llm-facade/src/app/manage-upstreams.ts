import {
  type ListUpstreams,
  type ParsedRequestOf,
  Problem,
  type RemoveUpstream,
  type SetUpstream,
  type UpstreamView,
  upstreamsMax,
} from '@fluidbox/contracts';
import { refuseUpstreamUrl, writtenUrl } from '../domain/upstream-url';
import type { Ports, StoredUpstream } from './ports';

type ManagePorts = Pick<Ports, 'organisations' | 'clock'>;

/** Binds the requests that begin a few seconds from now on: every facade reads its lists again. */
export async function setUpstream(
  { organisations: { table, keys, privateHosts }, clock }: ManagePorts,
  { principal, dialect, name, body }: ParsedRequestOf<typeof SetUpstream>,
): Promise<UpstreamView[]> {
  const refusal = refuseUpstreamUrl(body.base_url, privateHosts);
  if (refusal !== null)
    throw new Problem('unprocessable', `/base_url: ${refusal}`, { errors: [{ pointer: '/base_url', detail: refusal }] });
  const place = { org: principal.org, dialect, name, baseUrl: writtenUrl(body.base_url) };
  const upstream = { ...place, sealedKey: keys.seal(place, body.key), by: principal.name, at: clock.now() };
  const list = await table.set(upstream, body.position);
  if (list === null) throw new Problem('conflict', `there are ${upstreamsMax} upstreams of ${dialect} already; remove one first`);
  return list.map(viewOf);
}

export const listUpstreams = async (
  { organisations: { table } }: ManagePorts,
  { org, dialect }: ParsedRequestOf<typeof ListUpstreams>,
): Promise<UpstreamView[]> => (await table.list(org, dialect)).map(viewOf);

export async function removeUpstream(
  { organisations: { table }, clock }: ManagePorts,
  { principal, dialect, name }: ParsedRequestOf<typeof RemoveUpstream>,
): Promise<{ removed: true }> {
  if (!(await table.remove({ org: principal.org, dialect, name, by: principal.name, at: clock.now() })))
    throw new Problem('not_found', `there is no upstream ${name} of ${dialect}`);
  return { removed: true };
}

const viewOf = ({ name, position, baseUrl, by, at }: StoredUpstream): UpstreamView => ({
  name,
  position,
  base_url: baseUrl,
  set_by: by,
  set_at: at.toISOString(),
});
