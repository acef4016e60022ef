import type { Word as ParsedWord, WordPart } from 'unbash';

/** One word of a command after the shell's own unquoting. */
export interface Word {
  /** As written. */
  readonly text: string;
  /** What the program receives; a pattern when `glob`; null when only the running shell can know. */
  readonly value: string | null;
  /** Unquoted `*`, `?` or `[…]`: the program receives whatever files match. */
  readonly glob?: true;
  /** Only on a word without a value: the literal text in front of its first dynamic part. */
  readonly lead?: string;
  /** Only on a word without a value: unquoted, so it may become any number of words. */
  readonly splits?: true;
}

/** What redaction writes in place of a secret. What carries it was something else when it ran, so nothing may be allowed by it. */
export const hasRedactionMark = (text: string): boolean => text.includes('‹redacted');

export const isLiteral = (word: Word | undefined): word is Word & { value: string } =>
  word !== undefined && word.value !== null && word.glob !== true && !hasRedactionMark(word.value);

/** `$"…"` is looked up in a translation catalogue, brace and extended patterns multiply words: both count as dynamic. */
const isDynamic = (part: WordPart): boolean => {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return false;
    case 'Glob':
      return part.parts?.some(isDynamic) ?? false;
    case 'DoubleQuoted':
      return part.parts.some(isDynamic);
    default:
      return true;
  }
};

const isSplit = (part: WordPart): boolean => part.type !== 'DoubleQuoted' && isDynamic(part);

function literalLead(parts: readonly WordPart[]): string {
  let lead = '';
  for (const part of parts) {
    if (part.type === 'DoubleQuoted') {
      lead += literalLead(part.parts);
      if (part.parts.some(isDynamic)) return lead;
    } else if (part.type === 'Literal' || part.type === 'SingleQuoted' || part.type === 'AnsiCQuoted') lead += part.value;
    else return lead;
  }
  return lead;
}

export function wordOf(parsed: ParsedWord): Word {
  const parts = parsed.parts ?? [];
  const text = parsed.text;
  if (hasRedactionMark(parsed.value)) return { text, value: null, lead: '', splits: true };
  if (parts.some(isDynamic)) {
    const lead = literalLead(parts);
    return parts.some(isSplit) ? { text, value: null, lead, splits: true } : { text, value: null, lead };
  }
  return parts.some((part) => part.type === 'Glob') ? { text, value: parsed.value, glob: true } : { text, value: parsed.value };
}

/** Could this word, when it runs, be an option? A file may be named `--output=x`, so a leading pattern could. */
export const couldBeFlag = (word: Word): boolean => {
  if (word.value !== null) return word.glob === true && /^[*?[-]/.test(word.value);
  return word.splits === true || word.lead === undefined || word.lead === '' || word.lead.startsWith('-');
};

/** For people: one line, quoted where it has to be. */
export const showWord = (word: Word): string =>
  isLiteral(word) && /[\s'"\\$`;&|<>(){}]/.test(word.value)
    ? `'${word.value.slice(0, 120).replaceAll('\n', ' ')}'`
    : ((word.value ?? word.text).split('\n', 1)[0]?.slice(0, 160) ?? '');
