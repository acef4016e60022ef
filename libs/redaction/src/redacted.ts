import { hash } from 'node:crypto';
import type { LedgerBody } from '@fluidbox/contracts';
import { canonicalJson } from './canonical-json';
import { redactContent } from './scrub';

const door = Symbol('redactBody');

/**
 * Canonical bytes of a ledger body without secrets. The private field makes the class nominal in TypeScript and unforgeable at run time:
 * what the store accepts has been through `redactBody`.
 */
export class Redacted {
  readonly #text: string;

  constructor(key: symbol, text: string) {
    if (key !== door) throw new TypeError('a Redacted is made by redactBody only');
    this.#text = text;
  }

  text(): string {
    return this.#text;
  }

  /** A copy: the stored bytes cannot be changed through it. */
  bytes(): Buffer {
    return Buffer.from(this.#text, 'utf8');
  }

  /** SHA-256 of `bytes`. */
  digest(): Buffer {
    return hash('sha256', this.#text, 'buffer');
  }

  body(): LedgerBody {
    return JSON.parse(this.#text) as LedgerBody;
  }

  static is(value: unknown): value is Redacted {
    return typeof value === 'object' && value !== null && #text in value;
  }
}

/** The only door into the ledger. */
export function redactBody(body: LedgerBody): Redacted {
  return new Redacted(door, canonicalJson(redactContent(body)));
}
