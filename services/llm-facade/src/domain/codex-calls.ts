import { isObject, type Json, textOf } from './json';

/**
 * What the runner of Codex asks the gate about a call, foreseen from what the model wrote (images/codex-runner/src/canonical-calls.ts; the system test of
 * Codex tries them together). `others`: what a field may be instead.
 */
export interface ForeseenCall {
  readonly input: Json;
  readonly others: Readonly<Record<string, readonly string[]>>;
}

/** Null where nothing can be foreseen, and then nothing is compared: mostly calls that the program refuses by itself. */
export function codexCall(tool: string, written: unknown): ForeseenCall | null {
  switch (tool) {
    case 'Bash':
      return isObject(written) && typeof written.cmd === 'string' ? commandCall(written.cmd, written) : null;
    case 'Edit': {
      const edits = typeof written === 'string' ? editsOf(written) : null;
      return edits === null ? null : { input: { edits }, others: {} };
    }
    default:
      return null;
  }
}

const workspace = '/workspace';

/** `exec_command`: the script, below a `cd` line when it starts elsewhere. */
function commandCall(script: string, { workdir, shell }: Json): ForeseenCall {
  const directory = absolute(textOf(workdir));
  const at = (line: string): string => (directory === workspace ? line : `cd ${quoted(directory)}\n${line}`);
  const lines = typeof shell === 'string' ? linesOfShell(shell, script) : [];
  // The program has no command line for it.
  if (`${script}${textOf(shell)}`.includes('\0')) lines.push('<command included NUL byte>');
  return { input: { command: at(script) }, others: { command: lines.map(at) } };
}

/** Another shell than bash stands in front of its script. Which program it is the sandbox decides; what is not there becomes `sh`. */
function linesOfShell(shell: string, script: string): string[] {
  const name = shell.slice(shell.lastIndexOf('/') + 1);
  const programs = new Set([...(shell.startsWith('/') ? [shell] : []), `/usr/bin/${name}`, `/bin/${name}`, '/usr/bin/sh', '/bin/sh']);
  return [...programs].map((program) => `${program} -c ${quoted(script)}`);
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** As a command in the workspace names it; symlinks are the runner's to resolve. */
function absolute(path: string): string {
  const kept: string[] = [];
  for (const segment of (path.startsWith('/') ? path : `${workspace}/${path}`).split('/')) {
    if (segment === '..') kept.pop();
    else if (segment !== '' && segment !== '.') kept.push(segment);
  }
  return `/${kept.join('/')}`;
}

interface Edit {
  readonly file_path: string;
  readonly change: 'add' | 'delete' | 'update' | 'move_from' | 'move_to';
  /** Of a new file. */
  readonly diff?: string;
}

const headers = { 'Add File': 'add', 'Delete File': 'delete', 'Update File': 'update', 'Move to': 'move_to' } as const;
const header = /^\*\*\* (Add File|Delete File|Update File|Move to): (.*)$/;

/** The files of a patch. Null for what is no patch, or may be read in two ways: a header that is indented could be a line of a file. */
export function editsOf(text: string): readonly Edit[] | null {
  const lines = withoutHeredoc(text.trim()).split('\n');
  if (lines.shift()?.trim() !== '*** Begin Patch' || lines.pop()?.trim() !== '*** End Patch') return null;
  const edits: Edit[] = [];
  for (const line of lines) {
    const [, kind, path = ''] = header.exec(line.trimEnd()) ?? [];
    const last = edits.at(-1);
    if (kind !== undefined) {
      if (path.trim() === '') return null;
      const change = headers[kind as keyof typeof headers];
      if (change === 'move_to') {
        if (last?.change !== 'update') return null;
        edits[edits.length - 1] = { ...last, change: 'move_from' };
      }
      edits.push({ file_path: absolute(path), change, ...(change === 'add' ? { diff: '' } : {}) });
    } else if (header.test(line.trim())) return null;
    else if (last?.diff !== undefined && line.startsWith('+'))
      edits[edits.length - 1] = { ...last, diff: `${last.diff}${line.slice(1).replace(/\r$/, '')}\n` };
  }
  return edits.length === 0 ? null : edits;
}

const withoutHeredoc = (text: string): string => /^<<(['"]?)EOF\1\r?\n([\s\S]*)\nEOF$/.exec(text)?.[2] ?? text;
