/** Colour only where a person looks: a terminal, and NO_COLOR unset. */
export interface Paint {
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly cyan: (text: string) => string;
  readonly bold: (text: string) => string;
}

export function paintFor(stream: { isTTY?: boolean }, environment: Readonly<Record<string, string | undefined>>): Paint {
  const on = stream.isTTY === true && (environment.NO_COLOR ?? '') === '' && environment.TERM !== 'dumb';
  const with_ = (code: number) => (text: string) => (on ? `\u001b[${code}m${text}\u001b[0m` : text);
  return { dim: with_(2), red: with_(31), green: with_(32), yellow: with_(33), cyan: with_(36), bold: with_(1) };
}

const control = /(?![\t\n])[\p{Cc}\p{Cf}]/gu;

/** Text that an agent or a model wrote must not steer the terminal: control, zero-width and direction characters become visible. */
export const plain = (text: string): string => text.replaceAll(control, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** All of a text in lines of at most `width` characters, broken at spaces where there are any. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let rest = plain(text.replaceAll(/\s+/g, ' ').trim());
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width);
    const end = space > 0 ? space : width;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return [...lines, rest];
}

/** One line of at most `width` characters. */
export function oneLine(text: string, width: number): string {
  const line = plain(text.replaceAll(/\s+/g, ' ').trim());
  return line.length <= width ? line : `${line.slice(0, width - 1)}…`;
}
