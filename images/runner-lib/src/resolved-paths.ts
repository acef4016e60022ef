import fs from 'node:fs/promises';
import path from 'node:path';
import type { PermissionRequest } from '@fluidbox/contracts';

const pathFields = ['file_path', 'path', 'notebook_path', 'filePath'] as const;
const pathsMax = 256;
/** As the kernel: a path with more links than this cannot be opened. */
const linksMax = 40;

/**
 * Where the paths of a call lead behind the symlinks of the workspace, for those that lead elsewhere than they say. Only link texts are read, nothing is
 * opened, and what leaves the workspace is reported as it stands there: this process sees another world outside of it than the agent does. It is what was
 * found when the gate was asked; whoever can still change the links afterwards can make it wrong, so the gate judges it beside the path as written.
 */
export async function resolvedPaths({ tool, input }: PermissionRequest, workspace: string): Promise<string[] | undefined> {
  if (tool.startsWith('mcp__')) return undefined;
  const found = new Set<string>();
  for (const name of new Set(pathsOf(tool, input).map((written) => absolute(written, workspace)))) {
    const real = await resolveLinks(name, workspace);
    if (real !== null && real !== withoutDots(name)) found.add(real);
  }
  if (found.size === 0) return undefined;
  // More than can be named: the root stands for anything, so no rule that allows some paths covers it.
  return found.size > pathsMax ? ['/'] : [...found];
}

function pathsOf(tool: string, input: Readonly<Record<string, unknown>>): string[] {
  const edits = Array.isArray(input.edits) ? (input.edits as unknown[]) : [];
  const named = [
    ...pathFields.map((field) => input[field]),
    ...edits.map((edit) => (edit !== null && typeof edit === 'object' && 'file_path' in edit ? edit.file_path : undefined)),
  ].filter((value): value is string => typeof value === 'string' && value !== '' && !value.includes('\u0000'));
  // A file pattern reaches below its segments that are no pattern.
  if (tool === 'Glob' && typeof input.pattern === 'string' && !input.pattern.includes('\u0000')) {
    const segments = input.pattern.split('/');
    const wild = segments.findIndex((segment) => /[*?[{]/.test(segment));
    const literal = segments.slice(0, wild === -1 ? undefined : wild).join('/');
    if (wild !== 0) named.push(literal.startsWith('/') || named[0] === undefined ? `${literal}/` : `${named[0]}/${literal}`);
  }
  return named;
}

/** `..` stays: behind a link it is the parent of where the link leads. */
const absolute = (written: string, workspace: string): string => (written.startsWith('/') ? written : `${workspace}/${written}`);
const withoutDots = (name: string): string => path.posix.resolve('/', name);

/** Null when the links lead round in circles: nobody can open that. */
async function resolveLinks(name: string, workspace: string): Promise<string | null> {
  let real = '/';
  let rest = segmentsOf(name);
  for (let links = 0; rest.length > 0; ) {
    const [segment = '', ...after] = rest;
    const next = path.posix.join(real, segment);
    const target = isBelow(next, workspace) ? await linkText(next) : null;
    if (target === null) {
      real = next;
      rest = after;
      continue;
    }
    links += 1;
    if (links > linksMax) return null;
    rest = [...segmentsOf(target), ...after];
    if (target.startsWith('/')) real = '/';
  }
  return real;
}

const segmentsOf = (name: string): string[] => name.split('/').filter((segment) => segment !== '' && segment !== '.');
const isBelow = (name: string, folder: string): boolean => name.startsWith(`${folder}/`);

/** What a link says; null for everything else, also for what is not there yet or may not be looked at. */
const linkText = (name: string): Promise<string | null> => fs.readlink(name).catch(() => null);
