import { setTimeout as pause } from 'node:timers/promises';
import { leaseTtlSecsMax } from '@fluidbox/contracts';
import type { ContractClient } from './contract-client';
import type { Quiesce } from './quiesce';

const heartbeatMs = 10_000;
const renewAfterFailureMs = 20_000;

interface KeepAliveOptions {
  readonly client: ContractClient;
  readonly quiesce: Quiesce;
  readonly log: (message: string) => void;
}

/**
 * Heartbeat and lease renewal, each in a loop of its own, independent of any waiting permission call. A failed beat is only
 * logged: the control plane counts silence, the next beat may get through. Returns the function that stops both.
 */
export function startKeepAlive(options: KeepAliveOptions): () => void {
  const stopping = new AbortController();
  const { signal } = stopping;
  void untilStopped(signal, () => beatLoop(options, signal));
  void untilStopped(signal, () => renewLoop(options, signal));
  return () => stopping.abort();
}

async function untilStopped(signal: AbortSignal, loop: () => Promise<void>): Promise<void> {
  try {
    await loop();
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function beatLoop({ client, quiesce, log }: KeepAliveOptions, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      const answer = await client.heartbeat(signal);
      if (answer === 'quiesce') quiesce.latch('the control plane asked to wind down');
      if (answer === 'gone') quiesce.latch('the control plane no longer knows this sandbox');
    } catch (error) {
      signal.throwIfAborted();
      log(`heartbeat: ${String(error)}`);
    }
    await pause(heartbeatMs, undefined, { signal });
  }
}

async function renewLoop({ client, log }: KeepAliveOptions, signal: AbortSignal): Promise<void> {
  for (;;) {
    let nextMs = renewAfterFailureMs;
    try {
      const ttlSecs = await client.renew(leaseTtlSecsMax, signal);
      if (ttlSecs === null) return log('the lease is not renewed any more');
      nextMs = Math.max(1_000, (ttlSecs * 1000) / 3);
    } catch (error) {
      signal.throwIfAborted();
      log(`token renewal: ${String(error)}`);
    }
    await pause(nextMs, undefined, { signal });
  }
}
