import type { PathUse } from '../paths';
import type { Word } from './word';

/** Where a command stands: what made the shell run it. */
export type Role =
  | 'list'
  | 'pipeline'
  | 'background'
  | 'subshell'
  | 'group'
  | 'condition'
  | 'loop'
  | 'case'
  | 'function'
  | 'substitution'
  | 'wrapped'
  | 'script';

/** One simple command that the shell would run, after its own unquoting. Our own shape: the parser behind it may be exchanged. */
export interface ShellCommand {
  /** Its words, unquoted, without here-document bodies, for people. */
  readonly text: string;
  /** The program first; empty when the command only assigns or redirects. */
  readonly words: readonly Word[];
  readonly assignments: readonly string[];
  readonly paths: readonly PathUse[];
  /** Files written by redirection, a subset of `paths`. */
  readonly writes: readonly PathUse[];
  /** `/dev/tcp` and `/dev/udp` targets. */
  readonly egress: readonly string[];
  /** The directories in which it may run; null when only the running shell knows. */
  readonly base: readonly string[] | null;
  readonly role: Role;
  /** Index of the command around it (the wrapper, the command whose substitution this is), or null. */
  readonly within: number | null;
  /** It runs another command, which stands in the list by itself, and does nothing else. */
  readonly transparent?: true;
  /** One of several readings of a wrapper whose options we do not know: rules that deny or ask look at it, no allow is needed. */
  readonly candidate?: true;
  /** Why nobody can say what it runs. Never allowed. */
  readonly unknown?: string;
}

export interface ShellTree {
  /** The text with line continuations joined: what `deny_regex` reads. */
  readonly text: string;
  readonly commands: readonly ShellCommand[];
  /** Each pipeline rendered from unquoted words, so that quoting cannot hide it from a pattern. */
  readonly pipelines: readonly string[];
  /** The commands of a line that is nothing but plain ones joined by `&&`, in order; absent for any other line. */
  readonly chain?: readonly number[];
  /** The whole line cannot be judged: too large, or not shell. Never allowed. */
  readonly unknown: string | null;
}
