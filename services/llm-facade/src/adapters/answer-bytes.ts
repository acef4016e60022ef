import type { ByteFilter } from './key-guard';

/** The connection that the bytes come from. */
export interface Flow {
  pause(): void;
  resume(): void;
}

/** Bytes that a reader has not taken yet; beyond it the provider waits too. */
const heldBytesMax = 128 * 1024;
const none: Buffer = Buffer.alloc(0);

/**
 * Bytes of an answer between the provider's connection and their reader. What arrives in one turn of the event loop goes on in one piece: providers write
 * a piece for each event, and every step behind costs by the piece. Nothing waits for a later turn. A reader that is slow stops the connection.
 */
export class AnswerBytes {
  #held: Buffer[] = [];
  #heldBytes = 0;
  #ended: { readonly error?: unknown } | null = null;
  #take: ((bytes: Buffer) => Promise<void> | undefined) | null = null;
  #taking = false;
  #due = false;
  #paused = false;
  #over = false;
  #resolve: () => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  constructor(
    private readonly flow: Flow,
    private readonly filter: ByteFilter,
  ) {}

  /** Answers whether nothing was held before: the first of what comes together. */
  push(chunk: Buffer): boolean {
    if (this.#over) return false;
    const isFirst = this.#heldBytes === 0;
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes >= heldBytesMax && (this.#take === null || this.#taking)) {
      this.#paused = true;
      this.flow.pause();
    } else this.#soon();
    return isFirst;
  }

  /** Nothing more comes; with an error, the answer broke off. */
  end(broken?: { readonly error: unknown }): void {
    this.#ended ??= broken ?? {};
    this.#soon();
  }

  /** Resolves at the end and after `leave`; rejects when the answer broke off or `take` failed. Once. */
  read(take: (bytes: Buffer) => Promise<void> | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#take = take;
      this.#goOn();
    });
  }

  /** Nobody wants the rest. */
  leave(): void {
    this.#over = true;
    this.#held = [];
    this.#resolve();
  }

  #soon(): void {
    if (this.#due) return;
    this.#due = true;
    process.nextTick(() => {
      this.#due = false;
      this.#goOn();
    });
  }

  #goOn(): void {
    if (this.#take === null || this.#taking || this.#over) return;
    try {
      const bytes = this.#next();
      const taken = bytes.length === 0 ? undefined : this.#take(bytes);
      if (taken !== undefined) this.#waitFor(taken);
      else if (this.#ended !== null) this.#finish(this.#ended);
      else this.#resume();
    } catch (error) {
      this.#finish({ error });
    }
  }

  #next(): Buffer {
    const held = this.#held;
    const [first = none] = held;
    const bytes = held.length > 1 ? Buffer.concat(held, this.#heldBytes) : first;
    this.#held = [];
    this.#heldBytes = 0;
    const passed = bytes.length === 0 ? none : this.filter.pass(bytes);
    if (this.#ended === null || 'error' in this.#ended) return passed;
    const rest = this.filter.rest();
    return rest.length === 0 ? passed : Buffer.concat([passed, rest]);
  }

  #waitFor(taken: Promise<void>): void {
    this.#taking = true;
    taken.then(
      () => {
        this.#taking = false;
        this.#goOn();
      },
      (error: unknown) => {
        this.#taking = false;
        this.#finish({ error });
      },
    );
  }

  #finish(end: { readonly error?: unknown }): void {
    if (this.#over) return;
    this.#over = true;
    if ('error' in end) this.#reject(end.error);
    else this.#resolve();
  }

  #resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.flow.resume();
  }
}
