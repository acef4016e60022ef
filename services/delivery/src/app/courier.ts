import { isYes, nextStep, type Outcome, type Step } from '../domain/schedule';
import type { Claimed, CourierPorts, Settlement } from './ports';
import { Receivers } from './receivers';

/** Deliveries in hand, waiting for their turn included. */
const takenMax = 2_048;
/** While a receiver has more than so many in hand and all goes well, the end of an attempt is no reason to look for more or to record. */
const enoughInHand = 32;
/** When something is due that cannot be taken now, because its receiver is busy or another process is at it. */
const lookAgainMs = 1_000;
const idleMs = 30_000;

/**
 * Sends what is due. Woken by the follower once deliveries are committed, by the end of attempts, by its timer, and every 30 s. What is due is taken by the
 * page; each attempt is recorded before it begins and after it ends. A process that dies in between leaves a lease that ends, and the next one sends the same
 * delivery again under the same id.
 */
export class Courier {
  readonly #receivers = new Receivers();
  readonly #inHand = new Set<Promise<void>>();
  #round: Promise<void> | null = null;
  #again = false;
  /** There was no room for more. */
  #full = false;
  /** Something was settled that is not in the ledger. */
  #unrecorded = false;
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

  /** Attempts that run are waited for: they are bounded in time, and what is given back is sent sooner than what is left to its lease. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#round;
    this.#receivers.close();
    await Promise.all(this.#inHand);
  }

  async #look(): Promise<void> {
    let due: number | null = null;
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        const room = takenMax - this.#receivers.taken;
        this.#full = room <= 0 || this.#receivers.full;
        if (this.#full) return;
        const now = this.ports.clock.now();
        for (const claimed of await this.ports.table.claim({ room, now })) this.#take(claimed);
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

  #take(claimed: Claimed): void {
    this.#receivers.take(claimed.webhookId, claimed.failing);
    const work = this.#deliver(claimed).finally(() => this.#inHand.delete(work));
    this.#inHand.add(work);
  }

  async #deliver(claimed: Claimed): Promise<void> {
    let step: Step | null = null;
    try {
      step = await this.#send(claimed);
    } catch (error) {
      this.ports.onFailure('an attempt', error);
    }
    const left = this.#receivers.end(claimed.webhookId);
    if (step !== null && step.kind !== 'retry') this.#unrecorded = true;
    if (!this.#full && left > enoughInHand && step?.kind === 'delivered') return;
    this.wake();
    if (!this.#unrecorded) return;
    this.#unrecorded = false;
    await this.ports.record().catch((error: unknown) => this.ports.onFailure('recording', error));
  }

  /** Null: nothing was sent from here. */
  async #send(claimed: Claimed): Promise<Step | null> {
    const { table, finish, clock, chance } = this.ports;
    const { webhookId, tries, expiresAt } = claimed;
    const body = await finish(claimed);
    if (!(await this.#receivers.enter(webhookId))) {
      await table.giveBack(claimed);
      return null;
    }
    const outcome = await this.#attempt(claimed, body);
    if (outcome === null) return null;
    const now = clock.now();
    const step = nextStep(outcome, { tries, now: now.getTime(), chance: chance(), expiresAt });
    await table.settle(claimed, settlementOf(step, outcome), now);
    // Only now, when the table says so too and a claim takes no page of it: one at a time, by whom it may be.
    if (step.kind !== 'delivered') this.#receivers.sendAway(webhookId);
    return step;
  }

  /** Its turn is over with the answer: recording it keeps back no other. Null: it did not begin. */
  async #attempt(claimed: Claimed, body: string): Promise<Outcome | null> {
    const { table, send, clock } = this.ports;
    let well: boolean | null = null;
    try {
      const sending = await table.begin(claimed, body, clock.now());
      if (sending === null) return null;
      const outcome = await send(sending, clock.now().getTime());
      well = isYes(outcome);
      return outcome;
    } finally {
      this.#receivers.leave(claimed.webhookId, well);
    }
  }
}

function settlementOf(step: Step, outcome: Outcome): Settlement {
  const status = outcome.kind === 'answered' ? outcome.status : null;
  if (step.kind === 'delivered') return { state: 'delivered', status, reason: null, nextAttemptAt: null, disables: false };
  if (step.kind === 'dead') return { state: 'dead', status, reason: step.reason, nextAttemptAt: null, disables: step.disables };
  return { state: 'pending', status, reason: step.reason, nextAttemptAt: new Date(step.at), disables: false };
}
