import { bash, bashPolicy } from '../../policy.fixture';
import { grammars } from './grammars';
import { hazards } from './hazards';
import { inlineCode } from './inline-code';
import { wrappers } from './wrappers';

/** Every row of the tables does what it is there for, one option at a time: a row that was mistyped would be inert without a word. */
const verdict = (shell: Parameters<typeof bashPolicy>[0], command: string): string =>
  `${bash(bashPolicy(shell), command).verdict}: ${command}`;
const all = (wanted: string, commands: readonly string[]): string[] => commands.map((command) => `${wanted}: ${command}`);
const twoWords = (option: string) => `${option} 1`;

describe('wrappers', () => {
  const spellings = (name: string, inner: string): string[] => {
    const { values = [], flags = [], operands = 0, assignments } = wrappers[name] ?? {};
    const command = [...Array<string>(operands).fill('1'), inner].join(' ');
    const options = ['', ...values.map(twoWords), ...flags, ...(assignments ? ['A=1'] : [])];
    return options.map((option) => [name, option, command].filter((part) => part !== '').join(' '));
  };
  it.each(Object.keys(wrappers))('%s: a denied program behind it is denied, behind each of its options', (name) => {
    const commands = spellings(name, 'rm -r dist');
    expect(commands.map((command) => verdict({ deny: ['rm'], on_no_match: 'allow' }, command))).toEqual(all('deny', commands));
  });
  it.each(Object.keys(wrappers))('%s: text that it gives to a shell is judged', (name) => {
    const commands = (wrappers[name]?.scripts ?? []).map((option) => `${name} ${option} 'rm -r dist'`);
    expect(commands.map((command) => verdict({ deny: ['rm'], on_no_match: 'allow' }, command))).toEqual(all('deny', commands));
  });
  it.each(Object.keys(wrappers))('%s: an allow of the program behind it is enough only where that is exactly what runs', (name) => {
    const [command = ''] = spellings(name, 'ls src');
    expect(verdict({ allow: ['ls'] }, command)).toBe(`${wrappers[name]?.transparent ? 'allow' : 'ask'}: ${command}`);
  });
});

describe('options of programs', () => {
  const withSubcommand = Object.entries(grammars).filter(([, { subcommands }]) => subcommands > 0);
  it.each(withSubcommand)('%s: none of its own options hides the subcommand', (program, { subcommands, values = [], flags = [] }) => {
    const action = Array.from({ length: subcommands }, (_, i) => `part${i}`).join(' ');
    const commands = [...values.map(twoWords), ...flags].map((option) => `${program} ${option} ${action}`);
    expect(commands.map((command) => verdict({ allow: [program], deny: [`${program} ${action}`] }, command))).toEqual(
      all('deny', commands),
    );
  });
  it.each(Object.entries(grammars))('%s: both spellings of an option are one', (program, { subcommands, aliases = {} }) => {
    const action = [program, ...Array.from({ length: subcommands }, (_, i) => `part${i}`)].join(' ');
    const rows = Object.entries(aliases);
    const both = rows.flatMap(([short, long]) => [
      verdict({ allow: [program], deny: [`${action} ${long}`] }, `${action} ${short} x`),
      verdict({ allow: [program], deny: [`${action} ${short}`] }, `${action} ${long} x`),
    ]);
    expect(both).toEqual(rows.flatMap(([short, long]) => all('deny', [`${action} ${short} x`, `${action} ${long} x`])));
  });
});

describe('flags that run or write something else', () => {
  const rows = hazards.flatMap(({ program, subcommands = [''], flags }) =>
    subcommands.map((subcommand) => [`${program} ${subcommand}`.trim(), flags] as const),
  );
  it.each(rows)('%s: is allowed, and with none of them', (action, flags) => {
    expect(verdict({ allow: [action] }, `${action} x`)).toBe(`allow: ${action} x`);
    const commands = flags.flatMap((flag) => [`${action} ${flag} x`, ...(flag.startsWith('--') ? [`${action} ${flag}=x`] : [])]);
    expect(commands.map((command) => verdict({ allow: [action] }, command))).toEqual(all('ask', commands));
  });
});

describe('code given inline', () => {
  it.each(Object.entries(inlineCode))('%s: no grant for the rest of the run covers it', (program, flags) => {
    for (const flag of flags)
      expect(bash(bashPolicy({ ask: [program] }), `${program} ${flag} 'x'`)).toMatchObject({ verdict: 'ask', scopeKey: null });
  });
});
