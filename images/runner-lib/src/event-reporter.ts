import { mendAgentText, type ReportedEvent } from '@fluidbox/contracts';
import type { ContractClient } from './contract-client';

const messageCharsMax = 512 * 1024;
const summaryCharsMax = 64 * 1024;

/** Posts what happens in order, one at a time, without making the agent wait. Losing an entry is logged, never fatal. */
export class EventReporter {
  #tail: Promise<void> = Promise.resolve();
  readonly #client: ContractClient;
  readonly #log: (message: string) => void;

  constructor(client: ContractClient, log: (message: string) => void) {
    this.#client = client;
    this.#log = log;
  }

  report(event: ReportedEvent, actor = 'agent'): void {
    this.#tail = this.#tail.then(async () => {
      try {
        await this.#client.report(bounded(event), actor);
      } catch (error) {
        this.#log(`event ${event.type} was not stored: ${String(error)}`);
      }
    });
  }

  /** Resolves when all that was reported is stored or given up, at the latest after `capMs`. */
  async drain(capMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const cap = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, capMs);
    });
    await Promise.race([this.#tail, cap]);
    clearTimeout(timer);
  }
}

/** Cut by UTF-16 units, then mended: a cut may split a surrogate pair. */
export function cutText(text: string, charsMax: number): string {
  return mendAgentText(text.length > charsMax ? `${text.slice(0, charsMax - 1)}…` : text).text;
}

function bounded(event: ReportedEvent): ReportedEvent {
  switch (event.type) {
    case 'agent.message':
      return { ...event, data: { ...event.data, text: cutText(event.data.text, messageCharsMax) } };
    case 'tool.completed': {
      const { summary, ...data } = event.data;
      return { ...event, data: { ...data, ...(summary === undefined ? {} : { summary: cutText(summary, summaryCharsMax) }) } };
    }
    case 'run.error':
      return { ...event, data: { ...event.data, message: cutText(event.data.message, summaryCharsMax) } };
  }
}
