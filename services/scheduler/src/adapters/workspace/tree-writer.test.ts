import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { TreeRefused, TreeWriter } from './tree-writer';

const limits = { filesMax: 100, bytesMax: 1_000_000, fileBytesMax: 100_000 };
let dir: string;
let target: string;
beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-tree-'));
  target = path.join(dir, 'a', 'target');
  fs.mkdirSync(path.join(dir, 'a', 'outside'), { recursive: true });
  fs.mkdirSync(target);
});
afterEach(() => fs.rmSync(dir, { recursive: true, force: true }));

/** Name, and what it holds or, behind an arrow, where it leads. */
type Entry = readonly [name: string, content: string];
function write(entries: readonly Entry[]): { removed: number; files: number } {
  const writer = new TreeWriter(target, limits, null);
  try {
    for (const [name, content] of entries) {
      if (content.startsWith('-> ')) writer.link(name, content.slice(3));
      else writer.file(name, content === '#!', Buffer.from(content));
    }
    return { removed: writer.removeLeavingLinks(), files: writer.files };
  } finally {
    writer.close();
  }
}

// H-WS-02
describe('[WORKSPACE-1] the entries of a source, written into a workspace', () => {
  it.each<[string, (outside: string) => readonly Entry[]]>([
    [
      'goes through an absolute link that came before',
      (outside) => [
        ['gate', `-> ${outside}`],
        ['gate/x', 'evil'],
      ],
    ],
    [
      'goes through a relative link that came before',
      () => [
        ['sub/up', '-> ../../outside'],
        ['sub/up/y', 'evil'],
      ],
    ],
    ['climbs', () => [['../outside/evil', 'evil']]],
    ['is absolute', (outside) => [[`${outside}/evil`, 'evil']]],
    ['plants git hooks', () => [['.git/hooks/post-checkout', '#!']]],
    [
      'is there twice',
      () => [
        ['a', '1'],
        ['a', '2'],
      ],
    ],
    ['is too large', () => [['a', 'x'.repeat(limits.fileBytesMax + 1)]]],
    ['is one too many', () => Array.from({ length: limits.filesMax + 1 }, (_, n): Entry => [`f${n}`, ''])],
  ])('are refused where one %s, and nothing is written outside', (_what, entries) => {
    expect(() => write(entries(path.join(dir, 'a', 'outside')))).toThrow(TreeRefused);
    expect(fs.readdirSync(path.join(dir, 'a', 'outside'))).toEqual([]);
    expect(fs.readdirSync(path.join(dir, 'a'))).toEqual(['outside', 'target']);
  });

  it.each<[string, readonly Entry[], removed: number]>([
    [
      'directly',
      [
        ['fine', 'x'],
        ['up', '-> ..'],
      ],
      1,
    ],
    // The second link would stay inside if the first were a folder there.
    [
      'through two that look harmless',
      [
        ['a/b/f', ''],
        ['a/b/top', '-> ../..'],
        ['x', '-> a/b/top/../outside'],
      ],
      1,
    ],
  ])('lose a link that leads outside %s', (_how, entries, removed) => {
    expect(write(entries)).toEqual({ removed, files: entries.length - removed });
    for (const [name] of entries.slice(-1)) expect(fs.existsSync(path.join(target, name))).toBe(false);
  });

  it('keep a link that stays inside, and what may be executed', () => {
    expect(
      write([
        ['b/file', 'here'],
        ['a/link', '-> ../b/file'],
        ['run', '#!'],
      ]),
    ).toEqual({ removed: 0, files: 3 });
    expect(fs.readlinkSync(path.join(target, 'a/link'))).toBe('../b/file');
    expect(fs.readFileSync(path.join(target, 'a/link'), 'utf8')).toBe('here');
    expect(fs.statSync(path.join(target, 'run')).mode & 0o777).toBe(0o755);
  });
});
