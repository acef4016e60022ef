import { utf8Bytes } from '@fluidbox/contracts';

export interface Bounds {
  readonly bytes: number;
  readonly depth: number;
  readonly nodes: number;
}
export const schemaBounds: Bounds & { readonly patterns: number } = { bytes: 256 * 1024, depth: 32, nodes: 20_000, patterns: 64 };
export const argumentBounds: Bounds = { bytes: 1024 * 1024, depth: 64, nodes: 10_000 };

/** Why a JSON value is too large to be looked at, or null. Does not recurse deeper than its bound. */
export function beyondBounds(value: unknown, bounds: Bounds): string | null {
  let nodes = 0;
  const tooMuch = (item: unknown, depth: number): string | null => {
    if (depth > bounds.depth) return `is nested deeper than ${bounds.depth}`;
    if (++nodes > bounds.nodes) return `has more than ${bounds.nodes} parts`;
    if (item === null || typeof item !== 'object') return null;
    for (const inner of Object.values(item)) {
      const found = tooMuch(inner, depth + 1);
      if (found !== null) return found;
    }
    return null;
  };
  return tooMuch(value, 0) ?? (utf8Bytes(JSON.stringify(value) ?? '') > bounds.bytes ? `is larger than ${bounds.bytes} bytes` : null);
}
