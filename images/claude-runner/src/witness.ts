import { type Harness, harnesses } from '@fluidbox/contracts';

/** A tool whose result came back although the gate was never asked: interception has failed. */
export interface Violation {
  readonly toolUseId: string;
  readonly seenAs: 'ran' | 'result';
}

const refusal: Harness['refusal'] = harnesses['claude-agent-sdk'].refusal;

/**
 * Pairs the calls that the model emitted with those that were decided. It watches the same program that it guards against, so
 * it proves nothing to others (the facade's coverage does); it stops a run whose hooks no longer work after an upgrade.
 */
export class Witness {
  readonly #decided = new Set<string>();

  decided(toolUseId: string): void {
    this.#decided.add(toolUseId);
  }

  /** A hook said that the tool ran. */
  ran(toolUseId: string): Violation | undefined {
    return this.#decided.has(toolUseId) ? undefined : { toolUseId, seenAs: 'ran' };
  }

  /** A result went back to the model. The program refuses malformed calls before any hook; only that exact shape may be undecided. */
  result(toolUseId: string, isError: boolean, text: string): Violation | undefined {
    if (this.#decided.has(toolUseId)) return undefined;
    if ((isError || !refusal.requiresErrorFlag) && refusal.prefixes.some((prefix) => text.startsWith(prefix))) return undefined;
    return { toolUseId, seenAs: 'result' };
  }
}
