import { RE2JS } from 're2js';

/** Compiled size is bounded, because the time of a match is at most size × text. */
const patternInstructionsMax = 2000;

export interface LinearPattern {
  /** Instructions: what one character of text may cost. */
  readonly size: number;
  readonly matches: (text: string) => boolean;
}

/**
 * A linear-time engine: somebody else's pattern can be slow to write, never slow to match. For policies dot matches line breaks; `^` and
 * `$` are the ends of the whole text either way. Throws an Error that says what is wrong.
 */
export function linearPattern(source: string, read: 'as policy' | 'as JSON Schema'): LinearPattern {
  const compiled = read === 'as policy' ? RE2JS.compile(source, RE2JS.DOTALL) : RE2JS.compile(fromEcma(source));
  const size = compiled.programSize();
  if (size > patternInstructionsMax) throw new RangeError(`compiles to ${size} instructions, the limit is ${patternInstructionsMax}`);
  return { size, matches: (text) => compiled.matcher(text).find() };
}

/** JSON Schema writes patterns as JavaScript does, which spells code points in a way that the engine does not know. */
const fromEcma = (source: string): string =>
  source.replaceAll(/\\(?:u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|(.))/gs, (whole, braced?: string, four?: string) =>
    braced === undefined && four === undefined ? whole : `\\x{${braced ?? four ?? ''}}`,
  );
