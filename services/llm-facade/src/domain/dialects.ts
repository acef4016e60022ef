import { anthropicMessages } from './anthropic-messages';
import type { Dialect, ModelRoute } from './dialect';
import { openaiResponses } from './openai-responses';

/** The routes are the dialects' paths. One file per dialect, one entry here. */
export const dialects: readonly Dialect[] = [anthropicMessages, openaiResponses];

export function routeOf(path: string): ModelRoute | null {
  for (const dialect of dialects) {
    const kind = Object.hasOwn(dialect.paths, path) ? dialect.paths[path] : undefined;
    if (kind !== undefined) return { dialect, kind, path };
  }
  return null;
}

/** Whose error shape answers a path that nobody knows. */
export const defaultDialect: Dialect = anthropicMessages;
