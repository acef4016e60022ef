import type { WebhookMessage } from '@fluidbox/contracts';
import { withCheckpoint } from '../domain/message';
import type { Claimed } from './ports';

export interface FinishPorts {
  /** The signed checkpoint of this head, or null while there is none. */
  readonly checkpointAt: (stream: string, seq: number) => Promise<string | null>;
  readonly wait: (ms: number) => Promise<unknown>;
}

/** Projector signs a head some milliseconds after the event that made it. Looked for less and less often; a result is not kept back for longer than this. */
const looksMs = [5, 10, 20, 40, 80, 160, 320, 640, 725] as const;

/**
 * The body as it goes out. A result waits here for the checkpoint of its head, only before the first attempt, which stores it before it is sent, so that every one
 * has the same bytes. It waits before its turn, so it delays no other.
 */
export async function finishMessage({ checkpointAt, wait }: FinishPorts, claimed: Claimed): Promise<string> {
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
  return jws === null ? claimed.body : JSON.stringify(withCheckpoint(message, jws));
}
