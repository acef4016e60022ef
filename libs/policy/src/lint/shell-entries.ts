import type { PolicyDocument, PolicyRule } from '@fluidbox/contracts';
import { compilePrefix, type Prefix, reaches } from '../shell/prefix';
import { shells, subcommandWrappers, wrappers } from '../shell/programs/wrappers';
import type { ShellCommand } from '../shell/tree';
import type { Found } from './finding';

/** The command that an entry itself is. Whatever else a matching command has, it has these words. */
const commandOf = (prefix: Prefix): ShellCommand => ({
  text: prefix.source,
  words: prefix.tokens.map((value) => ({ text: value, value })),
  assignments: [],
  paths: [],
  writes: [],
  egress: [],
  // Where it will run is not known, so only absolute paths are compared.
  base: null,
  role: 'list',
  within: null,
});

/** Entries of a shell block that can never decide, because a stricter list always does or a shorter entry already has. */
export function* shellEntries({ tools }: PolicyDocument): Generator<Found> {
  for (const [index, rule] of tools.entries()) {
    if (rule.shell === undefined) continue;
    const lists = {
      allow: rule.shell.allow.map(compilePrefix),
      ask: rule.shell.ask.map(compilePrefix),
      deny: rule.shell.deny.map(compilePrefix),
    };
    yield* overruled(index, 'allow', lists.allow, 'deny', lists.deny);
    yield* overruled(index, 'allow', lists.allow, 'ask', lists.ask);
    yield* overruled(index, 'ask', lists.ask, 'deny', lists.deny);
    yield* redundant(index, rule, lists.allow);
  }
}

function* overruled(
  index: number,
  weaker: 'allow' | 'ask',
  entries: readonly Prefix[],
  stronger: 'ask' | 'deny',
  overruling: readonly Prefix[],
): Generator<Found> {
  for (const [at, entry] of entries.entries()) {
    const command = commandOf(entry);
    const by = overruling.find((prefix) => reaches(prefix, command, null) === 'yes');
    if (by === undefined || (weaker === 'allow' && namesMore(entry))) continue;
    yield {
      code: 'dead_entry',
      severity: 'warning',
      path: ['tools', index, 'shell', weaker, at],
      message: `"${entry.source}" has no effect: "${by.source}" in ${stronger} covers it and is stricter`,
      fix: `remove it from ${weaker}, or narrow "${by.source}"`,
    };
  }
}

/** A wrapper's entry may name the inner command, too: `npx jest` covers what npx runs. */
const namesMore = (prefix: Prefix): boolean =>
  shells.has(prefix.program) ||
  prefix.program === 'find' ||
  Object.hasOwn(wrappers, prefix.program) ||
  Object.keys(subcommandWrappers).some((key) => beginsWith(prefix.tokens.join(' '), key) || beginsWith(key, prefix.tokens.join(' ')));
const beginsWith = (text: string, start: string): boolean => `${text} `.startsWith(`${start} `);

const startsWith = (entry: Prefix, start: Prefix): boolean =>
  start.tokens.length <= entry.tokens.length && start.tokens.every((token, i) => token === entry.tokens[i]);

function* redundant(index: number, rule: PolicyRule, entries: readonly Prefix[]): Generator<Found> {
  for (const [at, entry] of entries.entries()) {
    const twin = entries.findIndex(
      (other, i) => i !== at && startsWith(entry, other) && (other.tokens.length < entry.tokens.length || i < at),
    );
    if (twin === -1 || ((namesMore(entry) || entry.flags.length > 0) && entry.source !== entries[twin]?.source)) continue;
    const shorter = rule.shell?.allow[twin] ?? '';
    yield {
      code: 'redundant_entry',
      severity: 'warning',
      path: ['tools', index, 'shell', 'allow', at],
      message: `"${entry.source}" is covered by "${shorter}" of the same list`,
      fix: `remove it, or remove "${shorter}" if that is wider than you mean`,
    };
  }
}
