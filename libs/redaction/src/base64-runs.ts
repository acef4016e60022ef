/** Of an AWS key id, the shortest secret worth the look. */
export const base64LengthMin = 27;
/** Shortest stretch in a secret of the makers whose secrets are long. */
const longLengthMin = 28;

const isOfBase64 = new Uint8Array(128);
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-') isOfBase64[char.charCodeAt(0)] = 1;
const slash = 47;
const equals = 61;
const charsOfSlash = 16;
const isAt = (text: string, at: number): boolean => isOfBase64[text.charCodeAt(at)] === 1;

interface Run {
  readonly from: number;
  readonly to: number;
}

/**
 * The stretches of a text that may be base64 of something long enough: in base64 of a text hardly one character of 32 is a slash, so of a path only those
 * between two slashes. In front of others stands a path perhaps, so those of a path come behind the whole.
 */
export function base64Runs(text: string): Run[] {
  const runs: Run[] = [];
  for (const run of stretches(text, base64LengthMin)) {
    const slashes = slashesIn(text, run);
    if (slashes * charsOfSlash <= run.to - run.from) runs.push(run);
    if (slashes > 0) runs.push(...between(text, run));
  }
  return runs;
}

/** Whether a secret of those makers may stand in it, in a path too. */
export const hasLongRun = (text: string): boolean => stretches(text, longLengthMin, 1).length > 0;

function slashesIn(text: string, { from, to }: Run): number {
  let slashes = 0;
  for (let at = from; at < to; at += 1) if (text.charCodeAt(at) === slash) slashes += 1;
  return slashes;
}

function between(text: string, { from, to }: Run): Run[] {
  const parts: Run[] = [];
  for (let at = from; at < to; ) {
    const next = text.indexOf('/', at);
    const end = next === -1 || next > to ? to : next;
    if (end - at >= base64LengthMin) parts.push({ from: at, to: end });
    at = end + 1;
  }
  return parts;
}

/** A stretch has a character at one of every `lengthMin` places, so only those are looked at: an expression that looks at all of them costs more than all shapes together. */
function stretches(text: string, lengthMin: number, countMax = Number.POSITIVE_INFINITY): Run[] {
  const found: Run[] = [];
  let done = 0;
  for (let at = lengthMin - 1; at < text.length && found.length < countMax; at += lengthMin) {
    if (!isAt(text, at)) continue;
    let from = at;
    while (from > done && isAt(text, from - 1)) from -= 1;
    let to = at + 1;
    while (to < text.length && isAt(text, to)) to += 1;
    const length = to - from;
    while (to < text.length && text.charCodeAt(to) === equals) to += 1;
    done = to;
    if (length >= lengthMin) found.push({ from, to });
    at = to - 1;
  }
  return found;
}
