import { callShapes, misshapen } from './call-shape';

describe('the shape of a call', () => {
  it.each<[string, Record<string, unknown>, string, Record<string, unknown>[]]>([
    ['Bash', { cmd: 'ls' }, '/command', [{ command: 'ls' }, { command: 'ls', timeout: 1 }]],
    ['Read', { path: 'a' }, '/file_path', [{ file_path: 'a' }]],
    ['Write', { content: 'x' }, '/file_path', [{ file_path: 'a', content: 'x' }, { edits: [{ file_path: 'a' }] }]],
    ['Edit', { old_string: 'x' }, '/file_path', [{ file_path: 'a' }, { edits: [{ file_path: 'a' }, { file_path: 'b' }] }]],
    ['MultiEdit', { edits: [{ file_path: 'a' }, {}] }, '/file_path', [{ edits: [{ file_path: 'a' }] }, { file_path: 'a', edits: [{}] }]],
    ['NotebookRead', {}, '/file_path', [{ notebook_path: 'a' }, { file_path: 'a' }]],
    ['NotebookEdit', { new_source: 'x' }, '/file_path', [{ notebook_path: 'a' }, { file_path: 'a' }]],
  ])('%s without its field is no call, and with it is one', (tool, without, pointer, withIt) => {
    expect(misshapen(tool, without)).toMatch(new RegExp(`^${pointer}: a ${tool} call needs a `));
    for (const input of withIt) expect(misshapen(tool, input)).toBeNull();
  });

  it('has a test of every row', () => {
    expect([...callShapes.keys()].sort()).toEqual(['Bash', 'Edit', 'MultiEdit', 'NotebookEdit', 'NotebookRead', 'Read', 'Write']);
  });

  it.each<[unknown, string]>([
    ['', 'empty'],
    ['  ', 'blank'],
    [['ls'], 'a list'],
    [7, 'a number'],
    [null, 'null'],
    [{ a: 1 }, 'an object'],
  ])('a command of %j is none: it is %s', (command, _kind) => {
    expect(misshapen('Bash', { command })).toBe('/command: a Bash call needs a command that is text and not empty');
  });

  it.each(['Glob', 'Grep', 'LS', 'TodoWrite', 'BashOutput', 'mcp__a__b', 'constructor'])('asks nothing of %s', (tool) => {
    expect(misshapen(tool, {})).toBeNull();
  });
});
