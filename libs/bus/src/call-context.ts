import { AsyncLocalStorage } from 'node:async_hooks';
import type { RequestMeta } from './api';

const storage = new AsyncLocalStorage<Partial<RequestMeta>>();

/** Runs `work` on behalf of a request: requests that it sends over the bus carry the same trace and principal. */
export const withRequestMeta = <T>(meta: Partial<RequestMeta>, work: () => T): T => storage.run(meta, work);
export const currentRequestMeta = (): Partial<RequestMeta> => storage.getStore() ?? {};

/** What a request carries: what was given, else what the surrounding request carried, else the organisation in the body. */
export function metaOf(request: unknown, given: Partial<RequestMeta> = {}): RequestMeta {
  const meta = { ...currentRequestMeta(), ...given };
  const org = typeof request === 'object' && request !== null && 'org' in request && typeof request.org === 'string' ? request.org : null;
  return { org: meta.org ?? org, principal: meta.principal ?? null, traceparent: meta.traceparent ?? null };
}
