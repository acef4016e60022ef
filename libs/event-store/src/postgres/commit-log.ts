import type { LogMessage } from '@fluidbox/contracts';
import { joinedMessages } from '../domain/recorded';

/** Shorter than anybody notices, longer than an append: what comes meanwhile goes together. */
const paceMs = 5;

/**
 * What was committed, on its way to the log. The first message goes at once; while appends follow each other closely, their messages of one stream go as one
 * every few milliseconds. One for each append cost the process as much as the append itself, and on a small machine the bus took the time from
 * Postgres. Nobody waits for it: callers are answered before.
 */
export class CommitLog {
  #waiting: LogMessage[] = [];
  #timer: NodeJS.Timeout | null = null;
  #lastAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly publish: (message: LogMessage) => void) {}

  add(message: LogMessage): void {
    this.#waiting.push(message);
  }

  /** To be called when there is a moment. */
  turn(): void {
    if (this.#waiting.length === 0 || this.#timer !== null) return;
    const due = this.#lastAt + paceMs - performance.now();
    if (due <= 0) this.flush();
    else this.#timer = setTimeout(() => this.flush(), due);
  }

  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#lastAt = performance.now();
    const messages = joinedMessages(this.#waiting);
    this.#waiting = [];
    for (const message of messages) this.publish(message);
  }
}
