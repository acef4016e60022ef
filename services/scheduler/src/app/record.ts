import { type EventDraft, Problem, type StreamRef, streamNameOf } from '@fluidbox/contracts';
import { factId } from './fact-id';
import type { Ports } from './ports';

type Fact = EventDraft extends infer D ? (D extends EventDraft ? Omit<D, 'actor' | 'eventId'> : never) : never;

/**
 * Appends a fact of this generation. A crash may repeat it: its id is derived, so it is stored once. When another generation has taken over,
 * or the stream is closed, the fact is nobody's business any more.
 */
export async function recordFact(
  ports: Pick<Ports, 'ledger'>,
  stream: StreamRef,
  generation: number,
  fact: Fact,
  once = generation,
): Promise<void> {
  const draft = { ...fact, actor: 'service:scheduler', eventId: factId(stream.id, fact.type, once) } as EventDraft;
  try {
    await ports.ledger.record(stream, [draft], { generation });
  } catch (error) {
    if (error instanceof Problem && error.code === 'stale_lease') return;
    throw error;
  }
}

/** The run's keys: from its launch, or asked for again after a restart. */
export async function ensureKeys(ports: Pick<Ports, 'keyring' | 'runKeys'>, stream: StreamRef): Promise<Buffer> {
  const name = streamNameOf(stream);
  const held = await ports.keyring.keysOf(name).catch((error: unknown) => {
    if (error instanceof Problem && error.code === 'forbidden') return null;
    throw error;
  });
  const keys = held ?? ports.keyring.grant(name, await ports.runKeys(stream));
  return Buffer.from(keys.exportRest().rest, 'base64');
}

const reasonCharsMax = 4_000;
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, reasonCharsMax);
