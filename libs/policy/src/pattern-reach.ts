import { RE2JS } from 're2js';

/**
 * Can any text match? Walks the compiled program of the engine (its version is pinned; a test reads known programs) from every possible
 * place in a text, keeping what the last character was and what the next one may be.
 */
interface Instruction {
  readonly op: number;
  readonly out: number;
  readonly arg: number;
  readonly runes: Readonly<Record<number, number>> & { readonly length?: number };
}
const op = { alt: 1, altMatch: 2, capture: 3, emptyWidth: 4, match: 6, nop: 7, rune: 8, rune1: 9, any: 10, anyButNewline: 11 } as const;
const assertion = { beginLine: 1, endLine: 2, beginText: 4, endText: 8, boundary: 16, noBoundary: 32 } as const;

/** Kinds of neighbours; the edge of the text is one. */
const word = 1;
const newline = 2;
const other = 4;
const edge = 8;
const anything = word | newline | other | edge;

export function canMatch(source: string): boolean {
  const { inst, start } = programOf(RE2JS.compile(source, RE2JS.DOTALL));
  const seen = new Set<number>();
  const open: { readonly at: number; readonly before: number; readonly next: number }[] = [];
  const reach = (at: number, before: number, next: number): void => {
    const key = (at * 16 + before) * 16 + next;
    if (next === 0 || seen.has(key)) return;
    seen.add(key);
    open.push({ at, before, next });
  };
  for (const before of [word, newline, other, edge]) reach(start, before, anything);
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    const { at, before, next } = state;
    const instruction = inst[at];
    switch (instruction?.op) {
      case op.match:
        return true;
      case op.alt:
      case op.altMatch:
        reach(instruction.out, before, next);
        reach(instruction.arg, before, next);
        break;
      case op.capture:
      case op.nop:
        reach(instruction.out, before, next);
        break;
      case op.emptyWidth:
        reach(instruction.out, before, next & allowedNext(instruction.arg, before));
        break;
      case op.rune:
      case op.rune1:
      case op.any:
      case op.anyButNewline:
        for (const kind of [word, newline, other]) if ((kindsOf(instruction) & next & kind) !== 0) reach(instruction.out, kind, anything);
        break;
      default:
        break;
    }
  }
  return false;
}

function allowedNext(flags: number, before: number): number {
  let next = anything;
  if ((flags & assertion.beginText) !== 0 && before !== edge) next = 0;
  if ((flags & assertion.beginLine) !== 0 && before !== edge && before !== newline) next = 0;
  if ((flags & assertion.endText) !== 0) next &= edge;
  if ((flags & assertion.endLine) !== 0) next &= edge | newline;
  const unlike = before === word ? anything & ~word : word;
  if ((flags & assertion.boundary) !== 0) next &= unlike;
  if ((flags & assertion.noBoundary) !== 0) next &= anything & ~unlike;
  return next;
}

const isWord = (code: number): boolean =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122);

function kindsOf(instruction: Instruction): number {
  if (instruction.op === op.any) return word | newline | other;
  if (instruction.op === op.anyButNewline) return word | other;
  const runes = Object.values(instruction.runes).filter((rune) => typeof rune === 'number');
  let kinds = 0;
  for (let i = 0; i < runes.length; i += 2) {
    const low = runes[i] ?? 0;
    const high = runes[i + 1] ?? low;
    // Every kind shows within the first characters of a range that has it.
    for (let code = low; code <= Math.min(high, low + 128); code++) kinds |= code === 10 ? newline : isWord(code) ? word : other;
  }
  return kinds;
}

const programOf = (compiled: RE2JS): { readonly inst: readonly Instruction[]; readonly start: number } =>
  (compiled as unknown as { readonly re2Input: { readonly prog: { readonly inst: readonly Instruction[]; readonly start: number } } })
    .re2Input.prog;
