/** The shells that sh-wrap is mounted over, so that what they are given runs one sandbox deeper. */
const wrappedShells: ReadonlySet<string> = new Set(['/usr/bin/bash', '/bin/bash']);

/**
 * The script of a command line that is exactly `bash -c SCRIPT`; null for anything else. Only one layer is taken off: a second one is the model's own,
 * and the policy looks through it.
 */
export function scriptOf(commandLine: string): string | null {
  const [shell = '', flag, script = ''] = shellCall(commandLine) ?? [];
  return wrappedShells.has(shell) && (flag === '-c' || flag === '-lc') ? script : null;
}

/** The line of another shell as it is shown: with our quoting, so that it does not hang on the program's taste in quotes. */
export function shownLine(commandLine: string): string {
  const [shell, flag, script] = shellCall(commandLine) ?? [];
  return shell === undefined || script === undefined || /[^\w./-]/.test(`${shell}${flag}`)
    ? commandLine
    : `${shell} ${flag} ${quoted(script)}`;
}

/** `SHELL FLAG SCRIPT`. */
function shellCall(commandLine: string): string[] | null {
  const words = shellWords(commandLine);
  return words?.length === 3 ? words : null;
}

/**
 * Splits the way the program joined its arguments (POSIX quoting, no expansion). Null when a character stands there that such a join never leaves
 * unquoted: then this is not what the program wrote, and guessing would judge something else than what runs.
 */
function shellWords(text: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  for (let at = 0; at < text.length; at++) {
    const char = text[at] ?? '';
    if (char === ' ') {
      if (word !== null) words.push(word);
      word = null;
    } else if (char === "'") {
      const end = text.indexOf("'", at + 1);
      if (end === -1) return null;
      word = (word ?? '') + text.slice(at + 1, end);
      at = end;
    } else if (char === '"') {
      const quoted = doubleQuoted(text, at + 1);
      if (quoted === null) return null;
      word = (word ?? '') + quoted.text;
      at = quoted.end;
    } else if (/[A-Za-z0-9_@%+=:,./\-\]\u{80}-\u{10ffff}]/u.test(char)) word = (word ?? '') + char;
    else return null;
  }
  if (word !== null) words.push(word);
  return words;
}

function doubleQuoted(text: string, start: number): { text: string; end: number } | null {
  let out = '';
  for (let at = start; at < text.length; at++) {
    const char = text[at] ?? '';
    if (char === '"') return { text: out, end: at };
    if (char === '\\') {
      const next = text[at + 1] ?? '';
      if (!'$`"\\'.includes(next) || next === '') return null;
      out += next;
      at++;
    } else if (char === '$' || char === '`') return null;
    else out += char;
  }
  return null;
}

/** One word for the shell, whatever it holds. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
