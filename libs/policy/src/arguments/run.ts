import { canonical } from '../canonical';

/** Where a value stands, innermost first; made into a JSON pointer only when something is wrong there. */
export interface Place {
  readonly parent: Place;
  readonly key: string | number;
}
export type At = Place | null;
export const inside = (parent: At, key: string | number): At => ({ parent, key }) as Place;

export interface ArgumentFault {
  /** JSON pointer into the arguments; empty for the arguments as a whole. */
  readonly pointer: string;
  /** Never holds a value of the arguments. */
  readonly reason: string;
}

const pointerCharsMax = 200;
export const faultsMax = 8;

function pointerOf(at: At): string {
  let pointer = '';
  for (let place = at; place !== null; place = place.parent)
    pointer = `/${String(place.key).replaceAll('~', '~0').replaceAll('/', '~1')}${pointer}`;
  return pointer.length > pointerCharsMax ? `${pointer.slice(0, pointerCharsMax)}…` : pointer;
}

/** Which members of the value in hand a schema has looked at: what `unevaluatedProperties` and `unevaluatedItems` ask. */
export interface Seen {
  readonly names: Set<string>;
  readonly items: Set<number>;
}
export const nothingSeen = (): Seen => ({ names: new Set(), items: new Set() });

export function addSeen(to: Seen, from: Seen): void {
  for (const name of from.names) to.names.add(name);
  for (const item of from.items) to.items.add(item);
}

/** Schemas may repeat themselves without end (`anyOf` of references to itself), so the work is counted; never the time. */
const workMax = 1_000_000;
const textWorkMax = 5_000_000;
/** References within references, so that the stack holds. */
const referencesMax = 256;

/** One validation: what is wrong so far, and what it has cost. */
export class Run {
  readonly faults: ArgumentFault[] = [];
  #work = 0;
  #textWork = 0;
  #references = 0;
  #quiet = 0;
  exhausted = false;

  work(amount: number): boolean {
    this.#work += amount;
    this.exhausted ||= this.#work > workMax;
    return !this.exhausted;
  }

  /** For work that looks at every character. */
  textWork(amount: number): boolean {
    this.#textWork += amount;
    this.exhausted ||= this.#textWork > textWorkMax;
    return !this.exhausted;
  }

  refer(check: () => boolean): boolean {
    this.exhausted ||= this.#references >= referencesMax;
    if (this.exhausted) return false;
    this.#references++;
    try {
      return check();
    } finally {
      this.#references--;
    }
  }

  /** Answers false, so that a check can end with it. */
  fault(at: At, reason: string): false {
    if (this.#quiet === 0 && this.faults.length < faultsMax) this.faults.push({ pointer: pointerOf(at), reason });
    return false;
  }

  /** What fails in here is one way out of several, or wanted to fail. */
  quietly(check: () => boolean): boolean {
    this.#quiet++;
    try {
      return check();
    } finally {
      this.#quiet--;
    }
  }

  matches(pattern: Pattern, text: string): boolean {
    return this.textWork(pattern.size * (text.length + 1)) && pattern.matches(text);
  }

  canonical(value: unknown): string {
    const text = canonical(value);
    this.textWork(text.length);
    return text;
  }
}

export interface Pattern {
  readonly source: string;
  readonly size: number;
  readonly matches: (text: string) => boolean;
}

export type Check = (value: unknown, at: At, run: Run, seen: Seen) => boolean;

/** What keywords may ask of the compiler around them. */
export interface Compiling {
  readonly dialect: 'draft-07' | '2020-12';
  schema(node: unknown, where: string): Check;
  reference(target: unknown, where: string): Check;
  pattern(source: unknown, where: string): Pattern;
}

/** The schema itself is wrong: the tool cannot be called. */
export class SchemaProblem extends Error {
  constructor(where: string, what: string) {
    super(`${where === '' ? 'the schema' : where} ${what}`);
  }
}

export type Keyword = (value: unknown, where: string, compiling: Compiling, schema: Readonly<Record<string, unknown>>) => Check;
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
