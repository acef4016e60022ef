/** A number as people wrote it: `0.07` is 7 × 10⁻², although no binary fraction is. */
function decimalOf(value: number): { readonly digits: bigint; readonly exponent: number } {
  const [mantissa = '0', power = '0'] = value.toString().split('e');
  const [whole = '0', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(power) - fraction.length };
}

/** Exact in decimal: 0.07 is a multiple of 0.01. */
export function isMultipleOf(value: number, step: number): boolean {
  const [a, b] = [decimalOf(value), decimalOf(step)];
  const shift = a.exponent - b.exponent;
  // Doubles reach from 1e-324 to 1e308, so this is at most some seven hundred digits.
  return shift >= 0 ? (a.digits * 10n ** BigInt(shift)) % b.digits === 0n : a.digits % (b.digits * 10n ** BigInt(-shift)) === 0n;
}
