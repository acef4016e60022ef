import { codexCall, editsOf } from './codex-calls';

const patch = (...lines: string[]): string => ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
const command = (written: Record<string, unknown>) => codexCall('Bash', written);

describe('what the gate is asked about a call of Codex', () => {
  it.each([
    [{ cmd: '  ls \n' }, '  ls \n'],
    [{ cmd: 'ls', workdir: null }, 'ls'],
    [{ cmd: 'ls', workdir: '' }, 'ls'],
    [{ cmd: 'ls', workdir: '/workspace/' }, 'ls'],
    [{ cmd: 'ls', workdir: './sub/../sub' }, "cd '/workspace/sub'\nls"],
    [{ cmd: 'ls', workdir: ' sub' }, "cd '/workspace/ sub'\nls"],
    [{ cmd: 'ls', workdir: "it's" }, "cd '/workspace/it'\\''s'\nls"],
    [{ cmd: 'ls', workdir: '~' }, "cd '/workspace/~'\nls"],
    [{ cmd: 'ls', workdir: '../../etc' }, "cd '/etc'\nls"],
    [{ cmd: 'ls', yield_time_ms: 5, bogus: 1 }, 'ls'],
  ])('the command %j is shown as %j and nothing else', (written, shown) => {
    expect(command(written)).toEqual({ input: { command: shown }, others: { command: [] } });
  });

  it('another shell may stand before the script, below the directory', () => {
    expect(command({ cmd: "echo 'x'", shell: '/opt/zsh', workdir: 'a' })).toEqual({
      input: { command: "cd '/workspace/a'\necho 'x'" },
      others: {
        command: ['/opt/zsh', '/usr/bin/zsh', '/bin/zsh', '/usr/bin/sh', '/bin/sh'].map(
          (shell) => `cd '/workspace/a'\n${shell} -c 'echo '\\''x'\\'''`,
        ),
      },
    });
    expect(command({ cmd: 'a\0b' })?.others).toEqual({ command: ['<command included NUL byte>'] });
  });

  it.each([[{}], [{ cmd: 7 }], [null], ['ls'], [['ls']]])('%j is refused by the program and not compared', (written) => {
    expect(codexCall('Bash', written)).toBeNull();
  });

  it('a patch is the files that it changes', () => {
    const text = patch(
      '*** Add File: z.txt',
      '+one',
      '+*** Delete File: not-this',
      '*** Add File: ./sub/../empty',
      '*** Delete File: ~/del.txt',
      '*** Update File: b.txt',
      '*** Move to: /workspace/c.txt',
      '@@',
      ' b',
      '-*** Delete File: nor-this',
      '+bb',
      '*** End of File',
      '*** Update File:  spaced.txt  ',
      '@@ here',
      '+x',
    );
    const edits = [
      { file_path: '/workspace/z.txt', change: 'add', diff: 'one\n*** Delete File: not-this\n' },
      { file_path: '/workspace/empty', change: 'add', diff: '' },
      { file_path: '/workspace/~/del.txt', change: 'delete' },
      { file_path: '/workspace/b.txt', change: 'move_from' },
      { file_path: '/workspace/c.txt', change: 'move_to' },
      { file_path: '/workspace/ spaced.txt', change: 'update' },
    ];
    expect(codexCall('Edit', text)).toEqual({ input: { edits }, others: {} });
    for (const same of [`\n  ${text}\n\n`, text.replaceAll('\n', '\r\n'), `<<'EOF'\n${text}\nEOF`, `<<EOF\n${text}\nEOF`])
      expect(editsOf(same)).toEqual(edits);
  });

  it.each([
    ['no patch', 'garbage'],
    ['nothing', ''],
    ['words before it', `hello\n${patch('*** Add File: a', '+1')}`],
    ['no end', '*** Begin Patch\n*** Add File: a\n+1'],
    ['no file', patch()],
    ['a file without a name', patch('*** Add File:  ')],
    ['a move of nothing', patch('*** Move to: a')],
    ['an indented header, which may be a line of the file', patch('*** Update File: a', '@@', ' *** Delete File: b', '+c')],
    ['arguments', { input: patch('*** Add File: a', '+1') }],
  ])('%s is not compared', (_name, written) => {
    expect(codexCall('Edit', written)).toBeNull();
  });

  it('a tool that nobody judges has none', () => {
    expect(codexCall('BashOutput', { session_id: 1 })).toBeNull();
  });
});
