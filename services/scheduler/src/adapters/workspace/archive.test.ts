import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { type Header, pack } from 'tar-stream';
import { extractArchive, packArchive } from './archive';
import { walkTree } from './walk-tree';

const limits = { filesMax: 100, bytesMax: 1_000_000, fileBytesMax: 100_000 };
let dir: string;
beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-archive-'));
  fs.mkdirSync(path.join(dir, 'outside'));
});
afterEach(() => fs.rmSync(dir, { recursive: true, force: true }));

type Entry = Partial<Header> & { name: string } & { content?: string };
function archiveOf(entries: readonly Entry[]): AsyncIterable<Buffer> {
  const tar = pack();
  for (const { content, ...header } of entries) tar.entry(header, content ?? '');
  tar.finalize();
  return tar.pipe(createGzip());
}
const link = (name: string, linkname: string): Entry => ({ name, type: 'symlink', linkname });

// H-WS-02
describe('[WORKSPACE-1] extractArchive', () => {
  it.each([
    ['writes through its own absolute link', (outside: string) => [link('gate', outside), { name: 'gate/x', content: 'evil' }]],
    [
      'writes through its own relative link',
      () => [{ name: 'sub', type: 'directory' }, link('sub/up', '../../outside'), { name: 'sub/up/y', content: 'evil' }],
    ],
    ['climbs', () => [{ name: '../evil', content: 'evil' }]],
    ['is absolute', () => [{ name: '/abs/evil', content: 'evil' }]],
    ['leaves a link to the outside', () => [{ name: 'fine', content: '' }, link('up', '..')]],
    [
      'leaves through two links that look harmless',
      () => [{ name: 'a/b/f', content: '' }, link('a/b/top', '../..'), link('x', 'a/b/top/../outside')],
    ],
    [
      'holds a hard link',
      () => [
        { name: 'a', content: '' },
        { name: 'b', type: 'link', linkname: 'a' },
      ],
    ],
    ['holds a device', () => [{ name: 'null', type: 'character-device', devmajor: 1, devminor: 3 }]],
    ['plants git hooks', () => [{ name: '.git/hooks/post-checkout', content: 'evil', mode: 0o755 }]],
    [
      'names a file twice',
      () => [
        { name: 'a', content: '1' },
        { name: 'a', content: '2' },
      ],
    ],
    ['has too large a file', () => [{ name: 'a', content: 'x'.repeat(limits.fileBytesMax + 1) }]],
    ['has too many files', () => Array.from({ length: limits.filesMax + 1 }, (_, n) => ({ name: `f${n}`, content: '' }))],
  ] as ReadonlyArray<readonly [string, (outside: string) => Entry[]]>)('refuses as a whole an archive that %s', async (_what, entries) => {
    const target = path.join(dir, 'target');
    await expect(extractArchive(archiveOf(entries(path.join(dir, 'outside'))), target, limits)).rejects.toThrow();
    expect(fs.readdirSync(dir)).toEqual(['outside']);
    expect(fs.readdirSync(path.join(dir, 'outside'))).toEqual([]);
    expect(fs.existsSync('/abs/evil')).toBe(false);
  });

  it('keeps a link that stays inside', async () => {
    const target = path.join(dir, 'target');
    await extractArchive(
      archiveOf([{ name: 'b/file', content: 'here' }, link('a/link', '../b/file'), { name: 'run', content: '#!', mode: 0o755 }]),
      target,
      limits,
    );
    expect(fs.readlinkSync(path.join(target, 'a/link'))).toBe('../b/file');
    expect(fs.readFileSync(path.join(target, 'a/link'), 'utf8')).toBe('here');
    expect(fs.statSync(path.join(target, 'run')).mode & 0o777).toBe(0o755);
  });
});

describe('packArchive', () => {
  const collect = async (source: AsyncIterable<Buffer>): Promise<Buffer> => Buffer.concat(await Readable.from(source).toArray());

  it('gives the same bytes for the same tree, whatever its times, and unpacks to it', async () => {
    const one = path.join(dir, 'one');
    fs.mkdirSync(path.join(one, 'sub/deep'), { recursive: true });
    fs.writeFileSync(path.join(one, 'sub/deep/ä.txt'), 'x'.repeat(70_000));
    fs.writeFileSync(path.join(one, 'empty'), '');
    fs.writeFileSync(path.join(one, 'run'), '#!', { mode: 0o755 });
    fs.symlinkSync('sub/deep', path.join(one, 'link'));
    fs.mkdirSync(path.join(one, '.git'));
    fs.writeFileSync(path.join(one, '.git/config'), 'hidden');
    const first = await collect(packArchive(walkTree(one, limits)));
    fs.utimesSync(path.join(one, 'empty'), 1, 1);
    const second = await collect(packArchive(walkTree(one, limits)));
    expect(second.equals(first)).toBe(true);
    const two = path.join(dir, 'two');
    expect(await extractArchive(Readable.from([first]), two, limits)).toEqual({ files: 4, bytes: 70_002 });
    expect(fs.readdirSync(two).sort()).toEqual(['empty', 'link', 'run', 'sub']);
    expect((await collect(packArchive(walkTree(two, limits)))).equals(first)).toBe(true);
  });
});
