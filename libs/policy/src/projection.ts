import { isInside, normalizePath, type PathUse, pathCharsMax } from './paths';
import { parseShell } from './shell/parse';
import type { ShellTree } from './shell/tree';
import { isLiteral } from './shell/word';
import { ENGINE_VERSION } from './version';

/** One tool call as the gate receives it. */
export interface ToolCall {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Where relative paths start; the sandbox's workspace unless said otherwise. */
  readonly cwd?: string;
  /** Its text had NUL or lone surrogates and was mended: what runs is not what we see, so it is never allowed. */
  readonly mended?: boolean;
  /** What the runner found behind symlinks; judged beside the paths as written. */
  readonly resolvedPaths?: readonly string[];
}

/** Everything policy looks at, and all that a backtest needs: plain JSON, stored sealed with `tool.requested`. */
export interface GateProjection {
  readonly engine: string;
  readonly tool: string;
  readonly cwd: string;
  readonly paths: readonly PathUse[];
  /** A path field that is not a readable path, by name. */
  readonly unreadablePath: string | null;
  readonly shell: ShellTree | null;
  readonly hosts: readonly string[];
  readonly args: Readonly<Record<string, unknown>>;
  readonly mended: boolean;
}

const workspaceRoot = '/workspace';
export const shellTools: ReadonlySet<string> = new Set(['Bash', 'Monitor']);
/** Tools that look at the working directory when they name no path. */
const searchTools: ReadonlySet<string> = new Set(['Glob', 'Grep', 'LS']);
const readTools: ReadonlySet<string> = new Set(['Read', 'Glob', 'Grep', 'LS', 'NotebookRead']);
const pathFields = ['file_path', 'path', 'notebook_path', 'filePath'] as const;
const argumentCharsMax = 8 * 1024;

export function gateProjection(call: ToolCall): GateProjection {
  const cwd = normalizePath(call.cwd ?? workspaceRoot);
  const isMcp = call.tool.startsWith('mcp__');
  const command = call.input.command;
  const shell = typeof command === 'string' && !isMcp ? parseShell(command, cwd) : null;
  const named = pathsNamed(call, cwd);
  return {
    engine: ENGINE_VERSION,
    tool: call.tool,
    cwd,
    paths: named.paths,
    unreadablePath: named.unreadable,
    shell,
    hosts: hostsOf(call, shell),
    args: shortened(call.input),
    mended: call.mended === true,
  };
}

export const isShellTool = (tool: string): boolean => shellTools.has(tool);

function pathsNamed(call: ToolCall, cwd: string): { paths: PathUse[]; unreadable: string | null } {
  const access = readTools.has(call.tool) ? 'read' : 'write';
  const paths: PathUse[] = [];
  let unreadable: string | null = null;
  const add = (field: string, value: unknown): void => {
    if (typeof value !== 'string' || value === '' || value.length > pathCharsMax || /^~|^[a-z][a-z0-9+.-]*:\/\//i.test(value))
      unreadable ??= field;
    else paths.push({ path: normalizePath(value, cwd), access, certainty: 'exact' });
  };
  for (const field of pathFields) if (Object.hasOwn(call.input, field) && call.input[field] !== undefined) add(field, call.input[field]);
  const edits = call.input.edits;
  if (Array.isArray(edits)) {
    edits.forEach((edit: unknown, i) => {
      if (edit !== null && typeof edit === 'object' && 'file_path' in edit) add(`edits[${i}].file_path`, edit.file_path);
    });
  }
  const pattern = call.input.pattern;
  if (call.tool === 'Glob' && typeof pattern === 'string')
    paths.push({ path: searchedBy(pattern, paths[0]?.path ?? cwd), access: 'read', certainty: 'exact' });
  else if (paths.length === 0 && unreadable === null && searchTools.has(call.tool))
    paths.push({ path: cwd, access: 'read', certainty: 'exact' });
  for (const resolved of call.resolvedPaths ?? []) paths.push({ path: normalizePath(resolved, cwd), access, certainty: 'exact' });
  return { paths, unreadable };
}

/** The directory a file pattern can reach: its segments before the first wildcard, or higher when a later one climbs. */
function searchedBy(pattern: string, base: string): string {
  const segments = pattern.split('/');
  const wild = segments.findIndex((segment) => /[*?[{]/.test(segment));
  if (wild === -1) return normalizePath(pattern, base);
  const climbs = segments.slice(wild).filter((segment) => segment.includes('..')).length;
  return climbs > 0 ? '/' : normalizePath(segments.slice(0, wild).join('/') + (wild > 0 ? '/' : ''), base);
}

function hostsOf(call: ToolCall, shell: ShellTree | null): string[] {
  const hosts = new Set<string>();
  const addFrom = (text: string): void => {
    if (!text.includes('://')) return;
    for (const [, host] of text.matchAll(/\b(?:https?|wss?|ftp|ssh|git):\/\/(?:[^/\s@]*@)?([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])/g))
      if (host !== undefined) hosts.add(host.toLowerCase());
  };
  const url = call.input.url;
  if (typeof url === 'string') addFrom(url);
  for (const command of shell?.commands ?? []) {
    for (const word of command.words) if (isLiteral(word)) addFrom(word.value);
    for (const target of command.egress) hosts.add((target.split('/')[3] ?? '').toLowerCase());
  }
  return [...hosts].sort();
}

/** Long texts (a file's new content) say nothing to policy; they stand in the sealed input already. */
function shortened(input: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const walk = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return value.length > argumentCharsMax ? `‹redacted: ${value.length} characters›` : value;
    if (depth > 16) return '‹redacted: nested too deep›';
    if (Array.isArray(value)) return value.slice(0, 1000).map((item) => walk(item, depth + 1));
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item, depth + 1)]));
  };
  return walk(input, 0) as Record<string, unknown>;
}

export const isInWorkspace = (path: string): boolean => isInside(path, workspaceRoot);
