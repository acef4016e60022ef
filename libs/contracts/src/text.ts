import { z } from 'zod';

const loneSurrogate = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

/** A field that a person writes: NUL and lone surrogates are refused by name instead of breaking the database later. */
export const humanText = (charsMax: number) =>
  z
    .string()
    .max(charsMax)
    .refine((text) => !text.includes('\u0000'), 'must not contain NUL')
    .refine((text) => !loneSurrogate.test(text), 'must be well-formed Unicode (lone surrogate found)');

/** Text that an agent writes is mended instead: NUL becomes U+2400, a lone surrogate U+FFFD. `mended` says whether it had either. */
export function mendAgentText(text: string): { text: string; mended: boolean } {
  const mendedText = text.replaceAll('\u0000', '\u2400').toWellFormed();
  return { text: mendedText, mended: mendedText !== text };
}

/** The same for every string and key of a JSON value. A tool input that had to be mended is unknown to policy. */
export function mendAgentValue(value: unknown): { value: unknown; mended: boolean } {
  let mended = false;
  const mend = (text: string): string => {
    const result = mendAgentText(text);
    mended ||= result.mended;
    return result.text;
  };
  const walk = (node: unknown): unknown => {
    if (typeof node === 'string') return mend(node);
    if (Array.isArray(node)) return node.map(walk);
    if (node === null || typeof node !== 'object') return node;
    return Object.fromEntries(Object.entries(node).map(([key, child]) => [mend(key), walk(child)]));
  };
  return { value: walk(value), mended };
}
