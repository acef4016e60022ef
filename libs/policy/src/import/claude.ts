import type { Verdict } from '@fluidbox/contracts';
import { compileGlob, exampleOfGlob } from '../glob';
import { compilePrefix } from '../shell/prefix';
import { type ClaudeEntry, commandForm, globsOf, readEntry } from './claude-entry';
import { finish, type Imported, type ImportNote, literalPattern, type Rule, type Sample, unique } from './imported';

const readTools = ['Read', 'Glob', 'Grep', 'LS', 'NotebookRead'];
const editTools = ['Edit', 'Write', 'MultiEdit', 'NotebookEdit'];
/** Claude Code runs them without a question, and they do nothing by themselves. */
const freeTools = ['TodoWrite', 'Agent', 'Task'];

/** Verdict words of our language, by the name of the list. */
const lists = { deny: 'deny', ask: 'ask', allow: 'allow' } as const;
type List = keyof typeof lists;
const modes = ['default', 'acceptEdits', 'plan', 'dontAsk', 'bypassPermissions', 'auto'] as const;

interface Permissions {
  readonly lists: Readonly<Record<List, readonly string[]>>;
  readonly mode: string;
  readonly directories: readonly string[];
}

const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every((item) => typeof item === 'string');

function permissionsOf(settings: unknown): Permissions | string {
  if (settings === null || typeof settings !== 'object' || !('permissions' in settings)) return 'the file has no "permissions"';
  const permissions = settings.permissions;
  if (permissions === null || typeof permissions !== 'object' || Array.isArray(permissions)) return '"permissions" must be an object';
  const { allow = [], ask = [], deny = [], defaultMode = 'default', additionalDirectories = [] } = permissions as Record<string, unknown>;
  if (!isTexts(allow) || !isTexts(ask) || !isTexts(deny)) return '"allow", "ask" and "deny" must be lists of texts';
  if (typeof defaultMode !== 'string') return '"defaultMode" must be a text';
  if (!isTexts(additionalDirectories)) return '"additionalDirectories" must be a list of texts';
  return { lists: { allow, ask, deny }, mode: defaultMode, directories: additionalDirectories };
}

/** The permission block of Claude Code's settings.json. There deny goes before ask and ask before allow, whatever is more specific. */
export function importClaude(settings: unknown, name: string): Imported {
  const permissions = permissionsOf(settings);
  if (typeof permissions === 'string') return { ok: false, problem: permissions };
  return new ClaudeImport(permissions).result(name);
}

class ClaudeImport {
  readonly #notes: ImportNote[] = [];
  readonly #samples: Sample[] = [];
  readonly #bare: Record<List, string[]> = { deny: [], ask: [], allow: [] };
  readonly #shell: { allow: string[]; ask: string[]; deny: string[]; deny_regex: string[] } = {
    allow: [],
    ask: [],
    deny: [],
    deny_regex: [],
  };
  readonly #exact: string[] = [];
  readonly #paths = { read: { allow: ['/workspace/**'], deny: [] as string[] }, edit: { allow: [] as string[], deny: [] as string[] } };
  readonly #domains: string[] = [];
  #isWebClosed = false;
  readonly #mode: string;
  readonly #permissions: Permissions;

  constructor(permissions: Permissions) {
    this.#permissions = permissions;
    this.#mode = (modes as readonly string[]).includes(permissions.mode) ? permissions.mode : 'default';
    if (this.#mode !== permissions.mode)
      this.#note(`defaultMode: ${permissions.mode}`, 'dropped', 'this mode is not known; taken for "default", which asks');
  }

  result(name: string): Imported {
    for (const list of ['deny', 'ask', 'allow'] as const)
      for (const text of this.#permissions.lists[list]) {
        const entry = readEntry(text);
        if (entry === null) this.#note(text, list === 'allow' ? 'dropped' : 'wider', 'it is not of the form Tool or Tool(specifier)');
        else this.#take(list, entry);
      }
    this.#modes();
    this.#directories();
    const document = {
      name,
      defaults: { tool_action: this.#mode === 'dontAsk' || this.#mode === 'plan' ? ('deny' as const) : ('ask' as const) },
      tools: this.#rules(),
    };
    return finish(document, this.#samples, this.#notes, 'the permissions of Claude Code');
  }

  #note(entry: string, outcome: ImportNote['outcome'], why: string): void {
    this.#notes.push({ entry, outcome, why });
  }
  #sample(tool: string, input: Record<string, unknown>, atLeast: Verdict, entry: string): void {
    this.#samples.push({ tool, input, atLeast, entry });
  }

  #take(list: List, entry: ClaudeEntry): void {
    if (entry.tool.slice(0, -1).includes('*')) this.#patternOfTools(list, entry);
    else if (entry.tool.startsWith('mcp__') && entry.tool.split('__').length === 2 && !entry.tool.endsWith('*'))
      this.#bare[list].push(entry.tool, `${entry.tool}__*`);
    else if (entry.specifier === null) this.#bare[list].push(entry.tool);
    else if (entry.tool === 'Bash') this.#command(list, entry, entry.specifier);
    else if (readTools.includes(entry.tool)) this.#path(list, entry, entry.specifier, 'read');
    else if (editTools.includes(entry.tool)) this.#path(list, entry, entry.specifier, 'edit');
    else if (entry.tool === 'WebFetch') this.#domain(list, entry, entry.specifier);
    else if (list === 'allow') this.#note(entry.text, 'dropped', `a specifier of ${entry.tool} cannot be said here; the tool is asked for`);
    else {
      this.#bare[list].push(entry.tool);
      this.#note(entry.text, 'stricter', `a specifier of ${entry.tool} cannot be said here, so it holds for every call of it`);
    }
  }

  #patternOfTools(list: List, entry: ClaudeEntry): void {
    if (list === 'allow') {
      this.#note(entry.text, 'dropped', 'a * may only stand at the end of a tool name here; those tools are asked for');
      return;
    }
    this.#bare[list].push(`${entry.tool.slice(0, entry.tool.indexOf('*'))}*`);
    this.#note(entry.text, 'stricter', 'a * may only stand at the end of a tool name here, so it holds for all that begin like it');
  }

  #command(list: List, entry: ClaudeEntry, specifier: string): void {
    const form = commandForm(specifier);
    if (form.kind !== 'pattern' && isPrefix(form.command)) {
      if (list === 'allow' && form.kind === 'exact') this.#exact.push(form.command);
      else if (form.kind === 'text-prefix' && list !== 'allow') {
        this.#commandPattern(list, entry, specifier);
        return;
      } else {
        this.#shell[list].push(form.command);
        if (form.kind === 'text-prefix')
          this.#note(entry.text, 'stricter', `only the whole word: ${form.command}, not what begins like it`);
        if (form.kind === 'exact') this.#note(entry.text, 'stricter', 'it holds for the command with any further words, too');
      }
      this.#sample('Bash', { command: form.command }, lists[list], entry.text);
    } else if (list === 'allow')
      this.#note(entry.text, 'dropped', 'a pattern of this form cannot be said here; those commands are asked for');
    else this.#commandPattern(list, entry, specifier);
  }

  #commandPattern(list: 'ask' | 'deny', entry: ClaudeEntry, specifier: string): void {
    this.#shell.deny_regex.push(`^${specifier.replace(/:\*$/, '*').split('*').map(literalPattern).join('.*')}$`);
    if (list === 'ask') this.#note(entry.text, 'stricter', 'patterns can only deny here; it was asked for there');
    this.#sample('Bash', { command: specifier.replaceAll('*', 'x') }, 'deny', entry.text);
  }

  #path(list: List, entry: ClaudeEntry, specifier: string, kind: 'read' | 'edit'): void {
    const found = globsOf(specifier);
    const globs = found?.globs.filter(isGlob) ?? [];
    if (found === null || globs.length === 0) {
      this.#note(entry.text, list === 'allow' ? 'dropped' : 'wider', 'the sandbox has no such place, or the pattern cannot be said here');
      return;
    }
    if (list === 'allow' && found.isHome) {
      this.#note(entry.text, 'dropped', 'the home folder of the sandbox is not that of a person');
      return;
    }
    this.#paths[kind][list === 'allow' ? 'allow' : 'deny'].push(...globs);
    if (list === 'ask') this.#note(entry.text, 'stricter', 'single paths can only be denied here; they were asked for there');
    const example = exampleOfGlob(compileGlob(globs[0] ?? '/'));
    if (example !== null)
      this.#sample(kind === 'read' ? 'Read' : 'Edit', { file_path: example }, list === 'allow' ? 'allow' : 'deny', entry.text);
  }

  #domain(list: List, entry: ClaudeEntry, specifier: string): void {
    const [, domain] = /^domain:([A-Za-z0-9.-]+)$/.exec(specifier) ?? [];
    if (list === 'allow' && domain !== undefined) {
      this.#domains.push(domain.toLowerCase());
      this.#sample('WebFetch', { url: `https://${domain.toLowerCase()}/` }, 'allow', entry.text);
      return;
    }
    if (list === 'allow') {
      this.#note(entry.text, 'dropped', 'not a single domain; it is asked for');
      return;
    }
    // An address can be spelt in many ways, so to deny some is to deny none.
    this.#isWebClosed = true;
    this.#note(
      entry.text,
      'stricter',
      'single domains cannot be refused here for sure, so every WebFetch without an allowed domain is asked for',
    );
  }

  #modes(): void {
    if (this.#mode === 'acceptEdits') this.#paths.edit.allow.push('/workspace/**');
    if (this.#mode === 'bypassPermissions' || this.#mode === 'auto')
      this.#note(`defaultMode: ${this.#mode}`, 'dropped', 'what no entry names is asked for; nothing is allowed unseen');
    if (this.#mode === 'plan')
      this.#note('defaultMode: plan', 'stricter', 'what no entry names is denied; a run of the tier read_only is the same for a whole run');
  }

  #directories(): void {
    for (const directory of this.#permissions.directories) {
      const path = directory.replace(/\/+$/, '');
      if (!path.startsWith('/') || path.split('/').includes('..') || !isGlob(`${path}/**`)) {
        this.#note(
          `additionalDirectories: ${directory}`,
          'dropped',
          'the sandbox has only the workspace; mount it there, or give an absolute path',
        );
        continue;
      }
      this.#paths.read.allow.push(`${path}/**`);
      if (this.#mode === 'acceptEdits') this.#paths.edit.allow.push(`${path}/**`);
    }
  }

  #rules(): Rule[] {
    const rules: Rule[] = [];
    const { deny, ask, allow } = this.#bare;
    const special = ['Bash', 'WebFetch', ...readTools, ...editTools];
    if (deny.length > 0) rules.push({ match: unique(deny), action: 'deny' });
    const asked = ask.filter((tool) => !special.includes(tool));
    if (asked.length > 0) rules.push({ match: unique(asked), action: 'ask' });
    rules.push(...this.#bashRules(ask.includes('Bash'), allow.includes('Bash')));
    rules.push(...this.#fileRules(readTools, this.#paths.read, ask, allow), ...this.#fileRules(editTools, this.#paths.edit, ask, allow));
    rules.push(...this.#webRules(ask.includes('WebFetch'), allow.includes('WebFetch')));
    const allowed = [...allow.filter((tool) => !special.includes(tool)), ...freeTools];
    rules.push({ match: unique(allowed).filter((tool) => !asked.includes(tool) && !deny.includes(tool)), action: 'allow' });
    return rules.filter((rule) => rule.match.length > 0);
  }

  #bashRules(isAsked: boolean, isAllowed: boolean): Rule[] {
    const { allow, ask, deny, deny_regex } = this.#shell;
    const closed = { ask: unique(ask), deny: unique(deny), deny_regex: unique(deny_regex) };
    // What must not be read or edited must not be either through a command.
    const denied = unique([...this.#paths.read.deny, ...this.#paths.edit.deny]);
    const paths = denied.length > 0 ? { paths: { deny: denied } } : {};
    const rest = this.#mode === 'dontAsk' || this.#mode === 'plan' ? 'deny' : 'ask';
    const exact = isAsked
      ? []
      : unique(this.#exact).map(
          (command): Rule => ({
            match: ['Bash'],
            action: 'allow',
            when: { args: { '/command': { equals: command } } },
            shell: { allow: unique([command, ...allow]), ...closed, on_no_match: rest },
            ...paths,
          }),
        );
    const general: Rule = {
      match: ['Bash'],
      action: isAsked ? 'ask' : 'allow',
      shell: { allow: unique(allow), ...closed, on_no_match: isAllowed && !isAsked ? 'allow' : rest },
      ...paths,
    };
    return [...exact, general];
  }

  /** Bare names hold for the one tool, patterns for all of its kind. */
  #fileRules(
    tools: readonly string[],
    { allow, deny }: { readonly allow: readonly string[]; readonly deny: readonly string[] },
    asked: readonly string[],
    allowed: readonly string[],
  ): Rule[] {
    const closed = deny.length > 0 ? { deny: unique(deny) } : {};
    const of = (kind: readonly string[], rule: Pick<Rule, 'action' | 'paths'>): Rule[] =>
      kind.length === 0 ? [] : [{ match: [...kind], ...rule }];
    const onlyDeny = deny.length > 0 ? { paths: closed } : {};
    const isAsked = (tool: string): boolean => asked.includes(tool);
    const isFree = (tool: string): boolean => !isAsked(tool) && allowed.includes(tool);
    const others = tools.filter((tool) => !isAsked(tool) && !isFree(tool));
    const rest: Pick<Rule, 'action' | 'paths'> =
      allow.length > 0 ? { action: 'allow', paths: { allow: unique(allow), ...closed } } : { action: 'ask', ...onlyDeny };
    return [
      ...of(tools.filter(isAsked), { action: 'ask', ...onlyDeny }),
      ...of(tools.filter(isFree), { action: 'allow', paths: { allow: ['/**'], ...closed } }),
      ...of(others, rest),
    ];
  }

  #webRules(isAsked: boolean, isAllowed: boolean): Rule[] {
    if (isAsked) return [{ match: ['WebFetch'], action: 'ask' }];
    if (isAllowed && !this.#isWebClosed) return [{ match: ['WebFetch'], action: 'allow' }];
    return unique(this.#domains).map((domain) => ({
      match: ['WebFetch'],
      action: 'allow',
      when: { args: { '/url': { glob: `http{s,}://${domain}/**` } } },
    }));
  }
}

function isPrefix(command: string): boolean {
  try {
    compilePrefix(command);
    return true;
  } catch {
    return false;
  }
}

function isGlob(glob: string): boolean {
  try {
    return exampleOfGlob(compileGlob(glob)) !== null && !glob.includes('\\');
  } catch {
    return false;
  }
}
