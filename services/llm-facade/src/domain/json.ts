export type Json = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Undefined when it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A token count as a provider reports it; what is absent, null or no count keeps its earlier value. */
export const countOr = (value: unknown, earlier: number): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : earlier;
