/** `error`: the document does not do what it says. `warning`: a part of it can be left out. `note`: good to know. */
export type Severity = 'error' | 'warning' | 'note';

export type LintCode =
  | 'shadowed'
  | 'unreachable'
  | 'deny_after_allow'
  | 'dead_matcher'
  | 'dead_entry'
  | 'redundant_entry'
  | 'dead_block'
  | 'shell_without_shell_tool'
  | 'dead_path'
  | 'directory_only'
  | 'regex_never_matches'
  | 'requires_impossible'
  | 'misspelt_tool'
  | 'unnamed_tool';

/** What a check found; the place is added by whoever knows the text. */
export interface Found {
  readonly code: LintCode;
  readonly severity: Severity;
  readonly path: readonly (string | number)[];
  readonly message: string;
  /** What to do about it. */
  readonly fix: string;
}
