/**
 * The part of Starlark that rule files are made of: calls with named arguments, texts, lists, `#` comments. Everything else in a file is
 * reported by its line, and the calls around it are still read.
 */
export type Value = string | boolean | null | readonly Value[];
export interface Call {
  readonly name: string;
  readonly args: Readonly<Record<string, Value>>;
  readonly line: number;
}
export interface ReadRules {
  readonly calls: readonly Call[];
  readonly unread: readonly { readonly line: number; readonly text: string }[];
}

type Token = { readonly kind: 'name' | 'text' | 'mark'; readonly value: string; readonly line: number };

export function readStarlark(source: string): ReadRules {
  const calls: Call[] = [];
  const unread: { line: number; text: string }[] = [];
  const lines = source.split('\n');
  const tokens = tokensOf(source);
  let at = 0;
  while (at < tokens.length) {
    const start = at;
    const read = readCall(tokens, at);
    if (read !== null) {
      calls.push(read.call);
      at = read.next;
      continue;
    }
    const line = tokens[start]?.line ?? 1;
    unread.push({ line, text: (lines[line - 1] ?? '').trim() });
    at = afterStatement(tokens, start);
  }
  return { calls, unread };
}

/** Past the rest of the line, and past whatever it opened. */
function afterStatement(tokens: readonly Token[], start: number): number {
  let depth = 0;
  let at = start;
  for (; at < tokens.length; at++) {
    const token = tokens[at];
    if (token === undefined) break;
    if (at > start && depth === 0 && token.line !== tokens[at - 1]?.line) break;
    if (token.kind === 'mark' && '([{'.includes(token.value)) depth++;
    if (token.kind === 'mark' && ')]}'.includes(token.value)) depth = Math.max(0, depth - 1);
  }
  return Math.max(at, start + 1);
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\\': '\\', '"': '"', "'": "'", '\n': '' };

function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  let line = 1;
  for (let at = 0; at < source.length; ) {
    const char = source[at] ?? '';
    if (char === '\n') line++;
    if (/\s/.test(char)) at++;
    else if (char === '#') at = source.indexOf('\n', at) === -1 ? source.length : source.indexOf('\n', at);
    else if (char === '"' || char === "'") {
      const quote = source.startsWith(char.repeat(3), at) ? char.repeat(3) : char;
      const startedAt = line;
      let value = '';
      at += quote.length;
      while (at < source.length && !source.startsWith(quote, at)) {
        if (source[at] === '\n') line++;
        if (source[at] === '\\') {
          const next = source[at + 1] ?? '';
          value += escapes[next] ?? `\\${next}`;
          at += 2;
        } else value += source[at++];
      }
      at += quote.length;
      tokens.push({ kind: 'text', value, line: startedAt });
    } else {
      const [word = char] = /^[A-Za-z_][A-Za-z0-9_]*/.exec(source.slice(at, at + 256)) ?? [];
      tokens.push({ kind: /^[A-Za-z_]/.test(word) ? 'name' : 'mark', value: word, line });
      at += word.length;
    }
  }
  return tokens;
}

function readCall(tokens: readonly Token[], start: number): { call: Call; next: number } | null {
  const name = tokens[start];
  if (name?.kind !== 'name' || tokens[start + 1]?.value !== '(' || tokens[start + 1]?.kind !== 'mark') return null;
  const args: Record<string, Value> = {};
  let at = start + 2;
  for (;;) {
    if (isMark(tokens[at], ')')) return { call: { name: name.value, args, line: name.line }, next: at + 1 };
    const key = tokens[at];
    if (key?.kind !== 'name' || !isMark(tokens[at + 1], '=')) return null;
    const read = readValue(tokens, at + 2, 0);
    if (read === null) return null;
    args[key.value] = read.value;
    at = read.next;
    if (isMark(tokens[at], ',')) at++;
    else if (!isMark(tokens[at], ')')) return null;
  }
}

const isMark = (token: Token | undefined, value: string): boolean => token?.kind === 'mark' && token.value === value;
const words: Readonly<Record<string, Value>> = { True: true, False: false, None: null };
const depthMax = 8;

function readValue(tokens: readonly Token[], at: number, depth: number): { value: Value; next: number } | null {
  const token = tokens[at];
  if (token === undefined || depth > depthMax) return null;
  if (token.kind === 'text') {
    // Texts that stand side by side are one.
    let value = token.value;
    let next = at + 1;
    for (; tokens[next]?.kind === 'text'; next++) value += tokens[next]?.value ?? '';
    return { value, next };
  }
  if (token.kind === 'name') return Object.hasOwn(words, token.value) ? { value: words[token.value] ?? null, next: at + 1 } : null;
  if (token.value !== '[') return null;
  const items: Value[] = [];
  let next = at + 1;
  while (!isMark(tokens[next], ']')) {
    const item = readValue(tokens, next, depth + 1);
    if (item === null) return null;
    items.push(item.value);
    next = item.next;
    if (isMark(tokens[next], ',')) next++;
    else if (!isMark(tokens[next], ']')) return null;
  }
  return { value: items, next: next + 1 };
}
