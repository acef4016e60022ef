import { nextStep, type Outcome, type Step } from '../domain/schedule';
import type { Claimed, CourierPorts, Settlement } from './ports';

/** Attempts at once in this process: so many receivers would have to be silent before others wait. */
const attemptsAtOnceMax = 256;
/** When something is due that cannot be taken now, because its receiver is busy or another process is at it. */
const lookAgainMs = 1_000;
const idleMs = 30_000;

/**
 * Sends what is due. Woken by the follower once deliveries are committed, by the end of each attempt, by its timer, and every 30 s. What an attempt came to is
 * recorded after it; a process that dies in between leaves a lease that ends, and the next one sends the same delivery again under the same id.
 */
export class Courier {
  #inFlight = new Set<Promise<void>>();
  #round: Promise<void> | null = null;
  #again = false;
  #stopped = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(private readonly ports: CourierPorts) {}

  wake(): void {
    this.#again = true;
    if (this.#stopped) return;
    this.#round ??= this.#look().finally(() => {
      this.#round = null;
      if (this.#again) this.wake();
    });
  }

  /** Attempts that run are waited for: they are bounded in time, and a lease that is given back is repeated sooner than one that ends. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#round;
    await Promise.all(this.#inFlight);
  }

  async #look(): Promise<void> {
    let due: number | null = null;
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        const room = attemptsAtOnceMax - this.#inFlight.size;
        if (room <= 0) return;
        const now = this.ports.clock.now();
        for (const claimed of await this.ports.table.claim({ room, now })) this.#begin(claimed);
      }
      due = await this.ports.table.nextDue();
    } catch (error) {
      this.ports.onFailure('looking for what is due', error);
      due = this.ports.clock.now().getTime();
    }
    this.#arm(due);
  }

  #arm(due: number | null): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#stopped) return;
    const wait = due === null ? idleMs : due - this.ports.clock.now().getTime();
    this.#timer = setTimeout(() => this.wake(), Math.min(wait <= 0 ? lookAgainMs : wait, idleMs));
    this.#timer.unref();
  }

  #begin(claimed: Claimed): void {
    const attempt = this.#attempt(claimed)
      .catch((error: unknown) => this.ports.onFailure('an attempt', error))
      .finally(() => {
        this.#inFlight.delete(attempt);
        this.wake();
      });
    this.#inFlight.add(attempt);
  }

  async #attempt(claimed: Claimed): Promise<void> {
    const { clock, chance, finish } = this.ports;
    const body = await finish(claimed);
    const outcome = await this.ports.send({ ...claimed, body }, clock.now().getTime());
    const now = clock.now();
    const step = nextStep(outcome, { tries: claimed.tries, now: now.getTime(), chance: chance(), expiresAt: claimed.expiresAt });
    await this.ports.table.settle(claimed, settlementOf(step, outcome), now);
    if (step.kind !== 'retry') await this.ports.record();
  }
}

function settlementOf(step: Step, outcome: Outcome): Settlement {
  const status = outcome.kind === 'answered' ? outcome.status : null;
  if (step.kind === 'delivered') return { state: 'delivered', status, reason: null, nextAttemptAt: null, disables: false };
  if (step.kind === 'dead') return { state: 'dead', status, reason: step.reason, nextAttemptAt: null, disables: step.disables };
  return { state: 'pending', status, reason: step.reason, nextAttemptAt: new Date(step.at), disables: false };
}
