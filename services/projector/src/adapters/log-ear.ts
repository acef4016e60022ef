import type { LogMessage } from '@fluidbox/contracts';
import { HeardRanges } from '../domain/heard-ranges';

const streamsMax = 20_000;

/** What the live log tells this process, and a way to wait for more of it. */
export class LogEar {
  readonly heard = new HeardRanges(streamsMax);
  #waiting: (() => void)[] = [];

  hear(message: LogMessage): void {
    this.heard.hear(message.stream, message.firstSeq, message.lastSeq);
    for (const wake of this.#waiting.splice(0)) wake();
  }

  nextMessage(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
