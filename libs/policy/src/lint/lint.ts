import type { ParsedPolicy } from '../document';
import { showPath } from '../document';
import { blocks, impossibleRequires } from './blocks';
import { deadPaths } from './dead-paths';
import type { Found, LintCode, Severity } from './finding';
import { deadPatterns } from './patterns';
import { ruleOrder } from './rule-order';
import { shellEntries } from './shell-entries';
import { toolNames } from './tool-names';

export interface LintFinding {
  readonly code: LintCode;
  readonly severity: Severity;
  /** Reads `tools[0].shell.allow[2]`. */
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly fix: string;
}

/**
 * What a valid document says without effect. `tools` are the names that the harnesses of the installation offer; without them names are
 * not judged. In the order of the text.
 */
export function lintPolicy(
  parsed: Extract<ParsedPolicy, { ok: true }>,
  options: { readonly tools?: readonly string[] } = {},
): LintFinding[] {
  const { document } = parsed;
  const found: Found[] = [
    ...ruleOrder(document),
    ...shellEntries(document),
    ...blocks(document),
    ...deadPaths(document),
    ...deadPatterns(document),
    ...impossibleRequires(document),
    ...(options.tools === undefined ? [] : toolNames(document, options.tools)),
  ];
  return found
    .map(({ path, ...rest }) => ({ ...rest, path: showPath(path), ...parsed.placeOf(path) }))
    .sort((a, b) => a.line - b.line || a.column - b.column);
}
