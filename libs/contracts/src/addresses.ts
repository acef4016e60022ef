/**
 * Address ranges that the control plane must not reach on somebody's behalf: not to clone, not to deliver. Whoever asks with a name resolves it once, looks at
 * what came out, and connects to exactly that.
 */
export function isPrivateAddress(address: string): boolean {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
  const parts = mapped.split('.').map(Number);
  if (parts.length === 4 && parts.every((part) => part >= 0 && part <= 255)) {
    const [a = 0, b = 0] = parts;
    return (
      a === 0 ||
      a === 10 ||
      a === 127 ||
      a >= 224 ||
      (a === 100 && b >= 64 && b < 128) ||
      (a === 169 && b === 254) ||
      (a === 172 && b >= 16 && b < 32) ||
      (a === 192 && b === 168) ||
      (a === 192 && b === 0) ||
      (a === 198 && (b === 18 || b === 19))
    );
  }
  // Of IPv6 only global unicast 2000::/3 is public; 6to4 and Teredo carry an IPv4 address inside.
  const lower = mapped.toLowerCase();
  return !/^[23][0-9a-f]{3}:/.test(lower) || /^2002:/.test(lower) || /^2001:0{0,3}0?:/.test(lower);
}
