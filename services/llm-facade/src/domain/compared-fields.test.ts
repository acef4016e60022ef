import { tidiedForms } from './compared-fields';

const file = '/workspace/a.ts';

describe('fields as a harness may tidy them before it asks', () => {
  it.each([
    ['/workspace/src/a.ts', true],
    ['/workspace/a b/ä.ts', true],
    ['src/a.ts', false],
    ['./a.ts', false],
    ['~/a.ts', false],
    ['/workspace/../etc/passwd', false],
    ['/workspace//a', false],
    ['/workspace/./a', false],
    ['/workspace/', false],
    ['/', false],
    ['/workspace/a ', false],
    ['/workspace/a\u0308', false],
    [7, false],
  ])('the path %j is compared: %s', (path, compared) => {
    for (const field of ['file_path', 'notebook_path', 'path']) expect(tidiedForms(field, { [field]: path }) !== null).toBe(compared);
  });

  it.each([
    ['ls', []],
    ['  ls \n', []],
    ['cd /workspace && ls', ['ls']],
    ['cd src && ls', []],
    ['cd /a && cd /b && ls', ['cd /b && ls', 'cd /a && ls']],
    ['cd /a && cd /a && ls', ['cd /a && ls']],
    ['find . -exec echo {} \\\\;', ['find . -exec echo {} \\;']],
    ['cd /a b && x \\\\;', ['cd /a b && x \\;', 'x \\;']],
    [7, []],
  ])('the command %j may become %j', (command, forms) => {
    expect(tidiedForms('command', { command })).toEqual(forms);
  });

  it('a command of very many places is not compared', () => {
    expect(tidiedForms('command', { command: Array.from({ length: 12 }, (_, n) => `cd /${n} && `).join('') })).toBeNull();
  });

  it('text that is written loses the white space at the ends of its lines, but not in Markdown', () => {
    const text = 'one  \ntwo\t\nthree\r\n\n  ';
    expect(tidiedForms('content', { content: text, file_path: file })).toEqual(['one\ntwo\nthree\r\n\n']);
    expect(tidiedForms('content', { content: text, file_path: '/workspace/a.md' })).toEqual([]);
    expect(tidiedForms('content', { content: 'x', file_path: file })).toEqual([]);
    expect(tidiedForms('new_string', { new_string: 'x  ', old_string: 'a', file_path: file })).toEqual(['x']);
    expect(tidiedForms('old_string', { new_string: 'x', old_string: 'a  ', file_path: file })).toEqual([]);
  });

  it('an edit with tags that are spelled out again is not compared', () => {
    for (const [old_string, new_string] of [
      ['<fnr>', 'x'],
      ['x', '</n>'],
      ['a\n\nH: b', 'x'],
      ['< META >', 'x'],
    ] as const)
      for (const field of ['old_string', 'new_string']) expect(tidiedForms(field, { old_string, new_string, file_path: file })).toBeNull();
  });
});
