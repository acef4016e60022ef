import type { z } from 'zod';

/**
 * What is said of an event: who may append it, its ledger data and its content.
 *
 * *Ledger* data is kept for ever, so it holds decisions, digests, usage and status, never what a person or a model wrote.
 * *Content* is sealed with the run's keys and can be erased: `projection` (what policy looked at), `rest` (everything else).
 * To change an event, add a version and an upcast; never edit one. A new optional field is no new version: every old event still reads.
 */
export interface EventRow {
  readonly appender: string;
  readonly data: z.ZodType;
  readonly content?: z.ZodType;
  readonly projection?: z.ZodType;
}
export type EventRows = Readonly<Record<string, EventRow>>;
