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

/** No call and no request is meant to be nested so far, and whoever walks one that is (us, the gate, a digest) would run out of stack. */
const depthMax = 500;
export const isDeep = (value: unknown): boolean => typeof value === 'object' && value !== null && isDeeperThan(depthMax, value);

/** Every request passes here, so nothing is copied on the way. */
function isDeeperThan(levels: number, node: object): boolean {
  if (levels === 0) return true;
  for (const name in node) {
    const child = (node as Record<string, unknown>)[name];
    if (typeof child === 'object' && child !== null && isDeeperThan(levels - 1, child)) return true;
  }
  return false;
}

/** Arguments as a model wrote them; undefined when they are not JSON, or nobody could judge them. */
export function parseArguments(text: string): unknown {
  const value = parseJson(text);
  return isDeep(value) ? undefined : value;
}

/** A token count as a provider reports it; what is absent, null or no count keeps its earlier value. */
export const countOr = (value: unknown, earlier: number): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : earlier;
