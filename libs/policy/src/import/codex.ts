import type { Verdict } from '@fluidbox/contracts';
import { finish, type Imported, type ImportNote, quoted, type Rule, type Sample, unique } from './imported';
import { readStarlark, type Value } from './starlark';

const decisions: Readonly<Record<string, Verdict>> = { allow: 'allow', prompt: 'ask', forbidden: 'deny' };
/** Alternatives of one rule, written out. */
const spellingsMax = 256;

export interface CodexSources {
  /** Rule files (`*.rules`), in any order: there the strictest rule wins, as it does here. */
  readonly rules: readonly string[];
  /** `config.toml`, of which `approval_policy` and `sandbox_mode` are read. */
  readonly config?: string;
}

/** Rules and approval policy of Codex. */
export function importCodex({ rules, config = '' }: CodexSources, name: string): Imported {
  const notes: ImportNote[] = [];
  const samples: Sample[] = [];
  const shell: Record<Verdict, string[]> = { allow: [], ask: [], deny: [] };
  for (const source of rules) {
    const { calls, unread } = readStarlark(source);
    for (const { line, text } of unread)
      notes.push({
        entry: `line ${line}: ${text}`,
        outcome: 'wider',
        why: 'only calls with texts and lists are read; write what it refuses by hand',
      });
    for (const { name: called, args, line } of calls) {
      if (called !== 'prefix_rule') {
        notes.push({
          entry: `line ${line}: ${called}(…)`,
          outcome: 'dropped',
          why: 'only prefix_rule is a rule about commands; programs are known by name, and there is no network',
        });
        continue;
      }
      const verdict = decisions[typeof args.decision === 'string' ? args.decision : 'allow'];
      const spellings = spellingsOf(args.pattern);
      if (verdict === undefined || typeof spellings === 'string') {
        const why = verdict === undefined ? 'its decision is none of allow, prompt, forbidden' : String(spellings);
        notes.push({ entry: `line ${line}: prefix_rule(…)`, outcome: verdict === 'allow' ? 'dropped' : 'wider', why });
        continue;
      }
      for (const words of spellings) {
        const entry = words.map(quoted).join(' ');
        shell[verdict].push(entry);
        samples.push({ tool: 'Bash', input: { command: entry }, atLeast: verdict, entry: `line ${line}: prefix_rule(${entry})` });
      }
      for (const example of examplesOf(args.match))
        samples.push({ tool: 'Bash', input: { command: example }, atLeast: verdict, entry: `line ${line}: match ${example}` });
      for (const example of examplesOf(args.not_match))
        samples.push({ tool: 'Bash', input: { command: example }, atLeast: 'allow', entry: '' });
    }
  }
  const edits = sandboxRule(config, notes);
  const document = {
    name,
    ...approvalPolicy(config, notes),
    tools: [
      {
        match: ['Bash'],
        action: 'allow' as const,
        shell: { allow: unique(shell.allow), ask: unique(shell.ask), deny: unique(shell.deny), on_no_match: 'ask' as const },
      },
      ...edits,
      { match: ['BashOutput', 'TodoWrite'], action: 'allow' as const },
    ],
  };
  return finish(document, samples, notes, 'the rules of Codex');
}

/** Each alternative of each word, written out: `["git", ["push", "fetch"]]` is two prefixes. */
function spellingsOf(pattern: Value | undefined): string[][] | string {
  if (!Array.isArray(pattern) || pattern.length === 0) return 'its pattern is no list of words';
  let spellings: string[][] = [[]];
  for (const element of pattern as readonly Value[]) {
    const choices = typeof element === 'string' ? [element] : Array.isArray(element) ? element : [];
    if (choices.length === 0 || !choices.every((choice) => typeof choice === 'string' && choice !== ''))
      return 'its pattern has an element that is no word';
    spellings = spellings.flatMap((words) => choices.map((choice) => [...words, String(choice)]));
    if (spellings.length > spellingsMax) return `it stands for more than ${spellingsMax} prefixes`;
  }
  return spellings;
}

const examplesOf = (value: Value | undefined): string[] =>
  Array.isArray(value)
    ? (value as readonly Value[]).flatMap((example) =>
        typeof example === 'string' ? [example] : Array.isArray(example) ? [example.map((word) => quoted(String(word))).join(' ')] : [],
      )
    : [];

/** A key of the top level of a TOML file whose value is one text. */
function topLevelText(config: string, key: string): string | null {
  for (const line of config.split('\n')) {
    if (/^\s*\[/.test(line)) return null;
    const [, found, , value] = /^\s*([A-Za-z0-9_-]+)\s*=\s*(["'])([^"']*)\2/.exec(line) ?? [];
    if (found === key && value !== undefined) return value;
  }
  return null;
}

function approvalPolicy(config: string, notes: ImportNote[]): { autonomy?: { permitted: true; on_approval_rule: 'deny' } } {
  const policy = topLevelText(config, 'approval_policy');
  if (policy === null && /approval_policy/.test(config))
    notes.push({
      entry: 'approval_policy',
      outcome: 'stricter',
      why: 'only a plain text at the top level is read; what no rule names is asked for',
    });
  if (policy === 'never') {
    notes.push({
      entry: 'approval_policy = "never"',
      outcome: 'stricter',
      why: 'commands that no rule names ran there inside of its sandbox; here they are asked for, and denied where nobody is there',
    });
    return { autonomy: { permitted: true, on_approval_rule: 'deny' } };
  }
  if (policy === 'on-request' || policy === 'on-failure')
    notes.push({
      entry: `approval_policy = "${policy}"`,
      outcome: 'stricter',
      why: 'the model decides there when to ask; here every command that no rule names is asked for',
    });
  return {};
}

function sandboxRule(config: string, notes: ImportNote[]): Rule[] {
  const mode = topLevelText(config, 'sandbox_mode');
  if (mode === 'workspace-write') return [{ match: ['Edit'], action: 'allow', paths: { allow: ['/workspace/**'] } }];
  if (mode === 'danger-full-access')
    notes.push({
      entry: 'sandbox_mode = "danger-full-access"',
      outcome: 'stricter',
      why: 'there is always a sandbox here; edits are asked for',
    });
  if (mode === 'read-only') return [{ match: ['Edit'], action: 'deny', tell_agent: 'This policy lets nothing be edited.' }];
  return [{ match: ['Edit'], action: 'ask', paths: { allow: ['/workspace/**'] } }];
}
