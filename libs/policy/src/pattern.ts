import { RE2JS } from 're2js';

/** A linear-time engine: an operator's pattern can be slow to write, never slow to match. Compiled size is bounded, because time is size × text. */
const patternInstructionsMax = 2000;

/** Dot matches line breaks; `^` and `$` are the ends of the whole text. Throws an Error that says what is wrong. */
export function compilePattern(source: string): (text: string) => boolean {
  const compiled = RE2JS.compile(source, RE2JS.DOTALL);
  const size = compiled.programSize();
  if (size > patternInstructionsMax) throw new RangeError(`compiles to ${size} instructions, the limit is ${patternInstructionsMax}`);
  return (text) => compiled.matcher(text).find();
}
