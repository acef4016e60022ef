import type { Command } from 'commander';
import { buildProgram } from './program';

const parse = (program: Command, words: readonly string[], writeErr: (text: string) => void = () => undefined): Promise<unknown> => {
  const silent = (command: Command): void => {
    command.configureOutput({ writeOut: () => undefined, writeErr });
    command.commands.forEach(silent);
  };
  silent(program);
  return program.parseAsync(['node', 'fluidbox', ...words]);
};
const commandsBelow = (command: Command): Command[] => command.commands.flatMap((each) => [each, ...commandsBelow(each)]);

describe('the command line', () => {
  it('describes every command and option', () => {
    const unsaid = commandsBelow(buildProgram()).flatMap((command) => [
      ...(command.description() === '' ? [command.name()] : []),
      ...command.options.filter(({ description }) => description === '').map(({ flags }) => `${command.name()} ${flags}`),
    ]);
    expect(unsaid).toEqual([]);
  });

  it.each([[['nonsense']], [['agent', 'nonsense']], [['list', '--status', 'nonsense']], [['agent']]])('refuses %j', async (words) => {
    await expect(parse(buildProgram(), words)).rejects.toMatchObject({ exitCode: 1 });
  });

  it.each([
    [['parked', 'replay', 'runs', 'x'], 'position', 'fluidbox parked replay'],
    [['watch', 'r1', '--after', 'x'], '--after', 'fluidbox watch'],
    [['costs', '--from', 'yesterday'], '--from', 'fluidbox costs'],
    [['run', '--task', 'x'], '--agent', 'fluidbox run'],
    [['policy', 'validate'], 'file', 'fluidbox policy validate'],
    [['verify', 'x', '--signer', 'abc'], '--signer', 'fluidbox verify'],
  ])('says what is wrong with %j and where its help is', async (words, named, command) => {
    const said: string[] = [];
    await expect(parse(buildProgram(), words, (text) => void said.push(text))).rejects.toMatchObject({ exitCode: 1 });
    expect(said.join('')).toMatch(/^fluidbox: .+\n/);
    expect(said.join('')).toContain(named);
    expect(said.join('')).toContain(`see ${command} --help`);
  });

  it.each([
    ['policy explain --policy x --calls y --tool Bash', '--calls FILE stands in the place of --tool'],
    ['policy explain --policy x --tool Bash --cwd rel', '--cwd rel: must be an absolute path'],
    ['policy backtest --from x --to y --calls z --own-runs', '--since and --own-runs choose among'],
    ['policy backtest --from x --to y --calls z --since 2026-11-01', '--since and --own-runs choose among'],
    ['policy import --name x --file y --out z', '--out goes with --format'],
    ['policy import --name x --file y --format claude --config z', '--config goes with --format codex'],
  ])('ignores no option without a word: %s', async (words, message) => {
    await expect(parse(buildProgram(), words.split(' '))).rejects.toMatchObject({
      message: expect.stringContaining(message),
      exitCode: 2,
    });
  });

  it('says in its help which options it cannot do without', () => {
    const run = buildProgram().commands.find((command) => command.name() === 'run');
    const help = run?.helpInformation() ?? '';
    expect(help).toMatch(/--task <text> +what the agent shall do \(required\)/);
    expect(help).toMatch(/--ref <ref> +branch, tag or full commit id for --git\n/);
  });

  it('names the statuses it knows', async () => {
    await expect(parse(buildProgram(), ['list', '--status', 'nonsense'])).rejects.toThrow(/awaiting_approval/);
  });

  it.each([
    ['none', 'none'],
    ['0', 0],
    ['2.5', 2.5],
  ])('takes a limit of %s dollars as it is meant', async (word, value) => {
    const program = buildProgram();
    const set = commandsBelow(program).find((command) => command.name() === 'set' && command.parent?.name() === 'budget');
    let asked: unknown;
    set?.action((options: { maxCostUsd: unknown }) => {
      asked = options.maxCostUsd;
    });
    await parse(program, ['budget', 'set', '--scope', 'org', '--max-cost-usd', word]);
    expect(asked).toBe(value);
    await expect(parse(buildProgram(), ['budget', 'set', '--scope', 'org', '--max-cost-usd', '-1'])).rejects.toMatchObject({ exitCode: 1 });
  });

  it('answers --version, and leaves the one of policy get alone', async () => {
    await expect(parse(buildProgram(), ['--version'])).rejects.toMatchObject({ code: 'commander.version', exitCode: 0 });
    const program = buildProgram();
    const get = commandsBelow(program).find((command) => command.name() === 'get' && command.parent?.name() === 'policy');
    let asked: unknown;
    get?.action((_name: string, options: { version?: number }) => {
      asked = options.version;
    });
    await parse(program, ['policy', 'get', 'default', '--version', '3']);
    expect(asked).toBe(3);
  });
});
