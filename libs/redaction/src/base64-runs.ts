/** As short as a secret of the known shapes is in base64. */
export const base64LengthMin = 28;

const isOfBase64 = new Uint8Array(128);
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-') isOfBase64[char.charCodeAt(0)] = 1;
const slash = 47;
const equals = 61;
const charsOfSlash = 16;
const isAt = (text: string, at: number): boolean => isOfBase64[text.charCodeAt(at)] === 1;

/** In base64 of a text hardly one character of 32 is a slash. */
function isPath(text: string, from: number, to: number): boolean {
  let slashes = 0;
  for (let at = from; at < to; at += 1) if (text.charCodeAt(at) === slash) slashes += 1;
  return slashes * charsOfSlash > to - from;
}

/**
 * The stretches of a text that may be base64 of something long enough. A stretch has a character at one of every `base64LengthMin` places, so only those are
 * looked at: an expression that looks at all of them costs more than all shapes together.
 */
export function base64Runs(text: string): { readonly from: number; readonly to: number }[] {
  const runs: { from: number; to: number }[] = [];
  let done = 0;
  for (let at = base64LengthMin - 1; at < text.length; at += base64LengthMin) {
    if (!isAt(text, at)) continue;
    let from = at;
    while (from > done && isAt(text, from - 1)) from -= 1;
    let to = at + 1;
    while (to < text.length && isAt(text, to)) to += 1;
    while (to < text.length && text.charCodeAt(to) === equals) to += 1;
    done = to;
    if (to - from >= base64LengthMin && !isPath(text, from, to)) runs.push({ from, to });
    at = to - 1;
  }
  return runs;
}
