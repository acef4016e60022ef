const named = /(["']?name["']?\s*:\s*)("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[A-Za-z0-9._-]+)/y;

/** The text with another name at `place`, everything else as it was, comments too. Null when no plain name stands there. */
export function renamed(source: string, place: { readonly line: number; readonly column: number }, name: string): string | null {
  let lineStart = 0;
  for (let line = 1; line < place.line; line++) lineStart = source.indexOf('\n', lineStart) + 1;
  named.lastIndex = lineStart + place.column - 1;
  const found = named.exec(source);
  if (found === null) return null;
  const [whole, key = '', old = ''] = found;
  // Digits and words of YAML are no strings without quotes; JSON always has them.
  const isPlain = !/^["']/.test(old) && /^[A-Za-z][\w.-]*$/.test(name) && !/^(true|false|null)$/i.test(name);
  return source.slice(0, found.index) + key + (isPlain ? name : `"${name}"`) + source.slice(found.index + whole.length);
}
