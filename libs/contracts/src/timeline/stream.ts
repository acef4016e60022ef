import { z } from 'zod';

/**
 * Where an event stands: `run-<uuid>`, `erasure-<uuid of the run>`, `webhook-<uuid>`, `delivery-<uuid>`, `agent-<uuid>`, `policy-<uuid>`; the last two are UUIDv5 of organisation and name (a name
 * may hold dots, a subject not).
 */
export const streamCategories = ['run', 'agent', 'policy', 'erasure', 'webhook', 'delivery'] as const;
export const StreamCategory = z.enum(streamCategories);
export type StreamCategory = z.infer<typeof StreamCategory>;
export interface StreamRef {
  readonly category: StreamCategory;
  readonly id: string;
  readonly org: string;
}
/** The name as it stands in the ledger, in log messages and in the associated data of sealed content. */
export const streamNameOf = (stream: Pick<StreamRef, 'category' | 'id'>): string => `${stream.category}-${stream.id}`;
/** What was erased of a run: its own stream is closed. */
export const erasureStream = (runId: string, org: string): StreamRef => ({ category: 'erasure', id: runId, org });
export const runStream = (runId: string, org: string): StreamRef => ({ category: 'run', id: runId, org });
