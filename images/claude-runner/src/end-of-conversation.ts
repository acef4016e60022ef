import type { ReadMessage } from './messages';

/** Time that the program has to start another turn after its last sub-agent in the background has ended. */
const anotherTurnMs = 3_000;

/**
 * When the conversation is over: the program has given its result and no sub-agent works in the background. Shells in the
 * background do not count, a server would keep the run open for ever; they end with the sandbox.
 */
export class EndOfConversation {
  readonly reached: Promise<void>;
  #resolve: () => void = () => undefined;
  #subAgents = 0;
  #hasResult = false;
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    this.reached = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  observe(message: ReadMessage): void {
    if (message.kind === 'results' && message.bySubAgent) return;
    clearTimeout(this.#timer);
    if (message.kind === 'background') this.#subAgents = message.subAgents;
    else this.#hasResult = message.kind === 'finished';
    if (!this.#hasResult || this.#subAgents > 0) return;
    if (message.kind === 'finished') this.now();
    else this.#timer = setTimeout(() => this.now(), anotherTurnMs);
  }

  now(): void {
    clearTimeout(this.#timer);
    this.#resolve();
  }
}
