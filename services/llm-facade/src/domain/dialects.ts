import { anthropicMessages } from './anthropic-messages';
import type { Dialect, RequestKind } from './dialect';

/** The routes are the dialects' paths. One file per dialect, one entry here. */
const dialects: readonly Dialect[] = [anthropicMessages];

export function routeOf(path: string): { readonly dialect: Dialect; readonly kind: RequestKind } | null {
  for (const dialect of dialects) {
    const kind = Object.hasOwn(dialect.paths, path) ? dialect.paths[path] : undefined;
    if (kind !== undefined) return { dialect, kind };
  }
  return null;
}

/** Whose error shape answers a path that nobody knows. */
export const defaultDialect: Dialect = anthropicMessages;
