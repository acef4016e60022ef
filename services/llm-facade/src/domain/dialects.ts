import { anthropicMessages } from './anthropic-messages';
import type { Dialect, ModelRoute } from './dialect';

/** The routes are the dialects' paths. One file per dialect, one entry here. */
const dialects: readonly Dialect[] = [anthropicMessages];

export function routeOf(path: string): ModelRoute | null {
  for (const dialect of dialects) {
    const kind = Object.hasOwn(dialect.paths, path) ? dialect.paths[path] : undefined;
    if (kind !== undefined) return { dialect, kind, path };
  }
  return null;
}

/** Whose error shape answers a path that nobody knows. */
export const defaultDialect: Dialect = anthropicMessages;
