import { headers, type Msg } from '@nats-io/transport-node';
import type { RequestMeta } from './api';

const headerNames = { org: 'fb-org', principal: 'fb-principal', traceparent: 'traceparent' } as const;

/** What a request carries on from whoever asked for it. */
export function headersOf(meta: RequestMeta) {
  const carried = headers();
  for (const key of ['org', 'principal', 'traceparent'] as const) {
    const value = meta[key];
    if (value !== null) carried.set(headerNames[key], value);
  }
  return carried;
}

export function metaFrom(message: Msg): RequestMeta {
  const read = (name: string): string | null => {
    const value = message.headers?.get(name);
    return value === undefined || value === '' ? null : value;
  };
  return { org: read(headerNames.org), principal: read(headerNames.principal), traceparent: read(headerNames.traceparent) };
}
