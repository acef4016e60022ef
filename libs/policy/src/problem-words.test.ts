import { parsePolicy } from './index';

const problems = (source: string): string[] => {
  const parsed = parsePolicy(source);
  return parsed.ok ? [] : parsed.problems.map(({ line, path, message }) => `${line} ${path} ${message}`);
};

describe('a problem of a document says what is expected, and what was meant', () => {
  it.each([
    ['', '(document) is empty: a policy has a name and tools'],
    ['[]', '(document) must be a block of `key: value`'],
    ['tools: []', 'name is missing: must be a text'],
    ['name: 5', 'name must be a text'],
    ['name: x\ntools: [{ match: Bash, action: allow }]', 'tools[0].match must be a list, such as [a, b]'],
    ['name: x\nguards: { same_call: x }', 'guards.same_call must be a number'],
    ['name: x\nbudgets: { max_tokens: 0 }', 'budgets.max_tokens must be at least 1'],
    ['name: x\nbudgets: { max_cost_usd: 1e12 }', 'budgets.max_cost_usd must be at most 1000000'],
    [`name: x\ntools: [{ match: [${'A,'.repeat(257)}], action: allow }]`, 'tools[0].match must have at most 256 entries'],
    [
      `name: x\ntools: [{ match: [A], action: allow, when: { args: { /${'x'.repeat(256)}: { glob: a } } } }]`,
      `tools[0].when.args./${'x'.repeat(256)} must have at most 256 characters`,
    ],
    ['name: x\nautonomy: { permitted: 1 }', 'autonomy.permitted must be true or false'],
    ['name: x\ndefaults: { tool_action: maybe }', 'defaults.tool_action must be allow, ask or deny'],
    [
      'name: x\ntools: [{ match: [A], action: allow, when: { args: { command: { glob: x } } } }]',
      'tools[0].when.args.command must be a JSON pointer such as /repo',
    ],
  ])('in words: %#', (source, said) => {
    expect(problems(source).map((each) => each.replace(/^\d+ /, ''))).toContain(said);
  });

  const unknown = 'is not a key of the policy language';
  it.each([
    ['budget: { max_cost_usd: 1 }', `budget ${unknown}; did you mean budgets?`],
    ['approvals: { default_ttl: 5 }', `approvals.default_ttl ${unknown}; did you mean default_ttl_secs?`],
    ['approvals: { defualt_ttl_secs: 5 }', `approvals.defualt_ttl_secs ${unknown}; did you mean default_ttl_secs?`],
    ['approvals: { default_ttl_sec: 5 }', `approvals.default_ttl_sec ${unknown}; did you mean default_ttl_secs?`],
    ['tools: [{ match: [A], action: allow, shel: {} }]', `tools[0].shel ${unknown}; did you mean shell?`],
    [
      'tools: [{ match: [A], action: allow, shell: { on_no_mach: ask } }]',
      `tools[0].shell.on_no_mach ${unknown}; did you mean on_no_match?`,
    ],
    [
      'tools: [{ match: [A], action: allow, when: { args: { /x: { globe: a } } } }]',
      `tools[0].when.args./x.globe ${unknown}; did you mean glob?`,
    ],
    ['tests: [{ tool: A, inputs: {}, expect: allow }]', `tests[0].inputs ${unknown}; did you mean input?`],
    ['colour: red', `colour ${unknown}`],
    ['to: red', `to ${unknown}`],
    ['moods: red', `moods ${unknown}`],
  ])('%s', (line, said) => {
    expect(problems(`name: x\n${line}`).map((each) => each.replace(/^\d+ /, ''))).toContain(said);
  });

  it('in the order of the document', () => {
    const found = problems('budget: 1\nname: x\nguards: { same_call: x }\ntools: [{ match: [A], action: alow }]\ncolour: red');
    expect(found.map((each) => Number(each.split(' ')[0]))).toEqual([1, 3, 4, 5]);
  });
});
