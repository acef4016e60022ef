import type { PolicyDocumentInput } from '@fluidbox/contracts';
import { parse } from 'yaml';
import { compileGlob, exampleOfGlob } from '../glob';
import { linearPattern } from '../pattern';
import { compilePrefix } from '../shell/prefix';
import { finish, type Imported, type ImportNote, type Sample } from './imported';

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields => value !== null && typeof value === 'object' && !Array.isArray(value);
const textsOf = (value: unknown): string[] => (Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []);

/**
 * A policy of the public fluidbox. Most of it is our language already. Its globs let `*` cross slashes and compare paths as written; its
 * prefixes covered whatever followed on the line; its `paths` beside `shell` were never looked at.
 */
export function importOriginal(source: string, name?: string): Imported {
  let document: unknown;
  try {
    document = parse(source, { maxAliasCount: 0, version: '1.2', schema: 'core' });
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
  if (!isFields(document)) return { ok: false, problem: 'the file is no policy document' };
  const notes: ImportNote[] = [];
  const samples: Sample[] = [];
  const { egress, network, tools, ...rest } = document;
  if (egress !== undefined)
    notes.push({ entry: 'egress', outcome: 'dropped', why: 'it was never consulted there; a sandbox here has no route out' });
  if (isFields(network) && network.max_mode !== undefined && network.max_mode !== 'offline')
    notes.push({ entry: `network.max_mode: ${String(network.max_mode)}`, outcome: 'stricter', why: 'only offline exists here' });
  const rules = Array.isArray(tools)
    ? tools.map((rule: unknown, i) => (isFields(rule) ? ruleOf(rule, `tools[${i}]`, notes, samples) : rule))
    : [];
  const named = name === undefined ? {} : { name };
  return finish({ ...rest, ...named, tools: rules } as unknown as PolicyDocumentInput, samples, notes, 'a policy of the public fluidbox');
}

function ruleOf(rule: Fields, at: string, notes: ImportNote[], samples: Sample[]): Fields {
  const { paths, shell, ...rest } = rule;
  const tool = textsOf(rule.match).find((matcher) => !matcher.endsWith('*')) ?? 'Edit';
  const next: Fields = { ...rest };
  if (isFields(paths)) {
    const allow = textsOf(paths.allow).flatMap((glob) => allowGlobs(glob, `${at}.paths.allow`, notes));
    const deny = textsOf(paths.deny).flatMap((glob) => denyGlobs(glob, `${at}.paths.deny`, notes));
    // An allow list of which nothing is left must not become no list at all.
    if (textsOf(paths.allow).length > 0 && allow.length === 0) next.action = rest.action === 'deny' ? 'deny' : 'ask';
    if (allow.length + deny.length > 0) next.paths = { ...paths, allow, deny };
    if (shell !== undefined)
      notes.push({
        entry: `${at}.paths`,
        outcome: 'stricter',
        why: 'beside shell it was never looked at there; here it holds for the paths of commands',
      });
    if (shell === undefined)
      for (const glob of deny) {
        const example = exampleOfGlob(compileGlob(glob));
        if (example !== null) samples.push({ tool, input: { file_path: example }, atLeast: 'deny', entry: `${at}.paths.deny: ${glob}` });
      }
  }
  if (isFields(shell)) next.shell = shellOf(shell, at, notes, samples, tool);
  return next;
}

function shellOf(shell: Fields, at: string, notes: ImportNote[], samples: Sample[], tool: string): Fields {
  const kept = (key: string, compile: (entry: string) => unknown, isRefusal: boolean): string[] =>
    textsOf(shell[key]).filter((entry) => {
      try {
        compile(entry);
        return true;
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        notes.push({ entry: `${at}.shell.${key}: ${entry}`, outcome: isRefusal ? 'wider' : 'dropped', why });
        return false;
      }
    });
  const allow_prefixes = kept('allow_prefixes', compilePrefix, false);
  const deny_regex = kept('deny_regex', (pattern) => linearPattern(pattern, 'as policy'), true);
  for (const command of allow_prefixes)
    samples.push({ tool, input: { command }, atLeast: 'allow', entry: `${at}.shell.allow_prefixes: ${command}` });
  return { ...shell, allow_prefixes, deny_regex };
}

const anchored = (glob: string): string =>
  glob.startsWith('/') || glob.startsWith('**') ? glob : `/workspace/${glob.replace(/^\.\//, '')}`;
const isUsable = (glob: string): boolean => {
  try {
    return !glob.split('/').some((segment) => segment === '..' || segment === '.') && exampleOfGlob(compileGlob(glob)) !== null;
  } catch {
    return false;
  }
};

/** `*` crossed slashes there: an allow becomes narrower, which is said. */
function allowGlobs(glob: string, at: string, notes: ImportNote[]): string[] {
  const path = anchored(glob);
  if (!isUsable(path)) {
    notes.push({ entry: `${at}: ${glob}`, outcome: 'dropped', why: 'it matches no path that is resolved' });
    return [];
  }
  if (/(^|[^*])\*([^*]|$)/.test(path))
    notes.push({ entry: `${at}: ${glob}`, outcome: 'stricter', why: 'a single * stays within one name here' });
  return [path];
}

/** A refusal must not become narrower: each single `*` stands for itself and for any names between. */
function denyGlobs(glob: string, at: string, notes: ImportNote[]): string[] {
  let written = [
    glob.startsWith('/') || glob.startsWith('**') ? glob : glob.startsWith('*') ? `**/${glob}` : `/workspace/${glob.replace(/^\.\//, '')}`,
  ];
  const stars = [...(written[0] ?? '').matchAll(/(?<!\*)\*(?!\*)/g)].length;
  if (stars > 4) {
    notes.push({ entry: `${at}: ${glob}`, outcome: 'wider', why: 'it has more than four single *, each of which crosses names there' });
    return written.filter(isUsable);
  }
  for (let i = 0; i < stars; i++) written = written.flatMap((one) => [replaceStar(one, '\u0000'), replaceStar(one, '\u0000/**/\u0000')]);
  const usable = written.map((one) => one.replaceAll('\u0000', '*').replaceAll(/\*\*\/\*\*/g, '**')).filter(isUsable);
  if (usable.length === 0) notes.push({ entry: `${at}: ${glob}`, outcome: 'wider', why: 'it matches no path that is resolved' });
  return usable;
}
const replaceStar = (glob: string, by: string): string => glob.replace(/(?<!\*)\*(?!\*)/, by);
