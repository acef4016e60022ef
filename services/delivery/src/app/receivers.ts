/** Attempts at once at one receiver; one while it fails. */
const atReceiverMax = 8;
/** Attempts at once in this process: so many receivers would have to be silent before others wait. */
const atOnceMax = 256;

interface Receiver {
  failing: boolean;
  /** Deliveries that this process has taken and that have not come to an end. */
  taken: number;
  attempts: number;
  waiting: ((admitted: boolean) => void)[];
}

/**
 * Where what this process has taken waits for its turn. A receiver belongs to one process at a time (the claim sees to it), so what is counted here is what
 * it gets. It is known for as long as anything is taken for it; what it answered last decides how much it gets, the table only at first.
 */
export class Receivers {
  readonly #known = new Map<string, Receiver>();
  #attempts = 0;
  #taken = 0;
  #closed = false;

  get taken(): number {
    return this.#taken;
  }

  get full(): boolean {
    return this.#attempts >= atOnceMax;
  }

  take(id: string, failing: boolean): void {
    const receiver = this.#known.get(id) ?? { failing, taken: 0, attempts: 0, waiting: [] };
    receiver.taken += 1;
    this.#taken += 1;
    this.#known.set(id, receiver);
  }

  /** Resolves when an attempt may begin, or with false when it is not to begin here. */
  enter(id: string): Promise<boolean> {
    return new Promise((resolve) => {
      const receiver = this.#known.get(id);
      if (this.#closed || receiver === undefined) return resolve(false);
      receiver.waiting.push(resolve);
      this.#admit();
    });
  }

  /** The attempt has ended; `well`: null when it had not begun. */
  leave(id: string, well: boolean | null): void {
    const receiver = this.#known.get(id);
    if (receiver === undefined) return;
    this.#attempts -= 1;
    receiver.attempts -= 1;
    if (well !== null) receiver.failing = !well;
    this.#admit();
  }

  /** Everybody who waits for this receiver, or for any. */
  sendAway(id: string): void {
    for (const answer of this.#known.get(id)?.waiting.splice(0) ?? []) answer(false);
  }

  close(): void {
    this.#closed = true;
    for (const id of this.#known.keys()) this.sendAway(id);
  }

  /** Answers how many are left of those that were taken for this receiver. */
  end(id: string): number {
    const receiver = this.#known.get(id);
    if (receiver === undefined) return 0;
    receiver.taken -= 1;
    this.#taken -= 1;
    if (receiver.taken === 0) this.#known.delete(id);
    return receiver.taken;
  }

  /** One for each receiver in turn. */
  #admit(): void {
    for (const [id, receiver] of this.#known) {
      if (this.full) return;
      if (receiver.attempts >= (receiver.failing ? 1 : atReceiverMax)) continue;
      const answer = receiver.waiting.shift();
      if (answer === undefined) continue;
      this.#attempts += 1;
      receiver.attempts += 1;
      // Behind the others, where this loop comes to it again.
      this.#known.delete(id);
      this.#known.set(id, receiver);
      answer(true);
    }
  }
}
