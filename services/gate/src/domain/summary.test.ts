import { summaryCharsMax, summaryOf } from './summary';

describe('the summary of a call', () => {
  it.each([
    ['Bash', { command: 'ls\n  -la' }, 'Bash: ls -la'],
    ['Edit', { file_path: '/workspace/a.ts', new_string: 'x' }, 'Edit: /workspace/a.ts'],
    ['TodoWrite', { todos: [] }, 'TodoWrite'],
  ])('%s %j', (tool, input, text) => expect(summaryOf(tool, input)).toBe(text));
  it('is short, also in astral characters', () => {
    expect([...summaryOf('Bash', { command: '😀'.repeat(500) })]).toHaveLength(summaryCharsMax);
  });
});
