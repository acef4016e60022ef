import { hash } from 'node:crypto';
import type { LedgerBody } from '@fluidbox/contracts';
import { canonicalJson } from './canonical-json';
import { redactContent } from './scrub';

const door = Symbol('redactBody');

export type Envelope = Readonly<Pick<LedgerBody, 'type' | 'version' | 'actor' | 'occurred_at'>>;

/**
 * Canonical bytes of a ledger body without secrets. The private field makes the class nominal in TypeScript and unforgeable at run time:
 * what the store accepts has been through `redactBody`.
 */
export class Redacted {
  readonly #text: string;
  readonly #envelope: Envelope;

  constructor(key: symbol, text: string, envelope: Envelope) {
    if (key !== door) throw new TypeError('a Redacted is made by redactBody only');
    this.#text = text;
    this.#envelope = envelope;
  }

  text(): string {
    return this.#text;
  }

  /** What stands in columns beside the text, as the text says it. */
  envelope(): Envelope {
    return this.#envelope;
  }

  /** A copy: the stored bytes cannot be changed through it. */
  bytes(): Buffer {
    return Buffer.from(this.#text, 'utf8');
  }

  /** SHA-256 of `bytes`. Through a text of one character a byte: a buffer of its own made by the hash takes as long as the hash. */
  digest(): Buffer {
    return Buffer.from(hash('sha256', this.#text, 'binary'), 'binary');
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
  const redacted = redactContent(body) as LedgerBody;
  const { type, version, actor, occurred_at } = redacted;
  return new Redacted(door, canonicalJson(redacted), { type, version, actor, occurred_at });
}
