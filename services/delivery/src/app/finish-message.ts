import type { WebhookMessage } from '@fluidbox/contracts';
import { withCheckpoint } from '../domain/message';
import type { Claimed, DeliveryTable } from './ports';

export interface FinishPorts {
  /** The signed checkpoint of this head, or null while there is none. */
  readonly checkpointAt: (stream: string, seq: number) => Promise<string | null>;
  readonly table: Pick<DeliveryTable, 'replaceBody'>;
  readonly wait: (ms: number) => Promise<unknown>;
}

/** Projector signs a head some milliseconds after the event that made it. Looked for less and less often; a result is not kept back for longer than this. */
const looksMs = [5, 10, 20, 40, 80, 160, 320, 640, 725] as const;

/**
 * The body as it goes out. A result waits here for the checkpoint of its head, only before the first attempt: it is stored before it is sent, so that every attempt
 * has the same bytes. An attempt waits by itself, so one that waits delays no other.
 */
export async function finishMessage({ checkpointAt, table, wait }: FinishPorts, claimed: Claimed): Promise<string> {
  if (claimed.type !== 'run.result' || claimed.attempt > 1) return claimed.body;
  // Written by this service.
  const message = JSON.parse(claimed.body) as WebhookMessage;
  if (message.type !== 'run.result') return claimed.body;
  const { stream, seq } = message.data.head;
  let jws = await checkpointAt(stream, seq);
  for (const ms of looksMs) {
    if (jws !== null) break;
    await wait(ms);
    jws = await checkpointAt(stream, seq);
  }
  if (jws === null) return claimed.body;
  const body = JSON.stringify(withCheckpoint(message, jws));
  return (await table.replaceBody(claimed, body)) ? body : claimed.body;
}
