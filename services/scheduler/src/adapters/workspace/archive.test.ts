import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { packArchive } from './archive';
import { walkTree } from './walk-tree';

const limits = { filesMax: 100, bytesMax: 1_000_000, fileBytesMax: 100_000 };

describe('packArchive', () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-archive-'));
  afterAll(() => fs.rmSync(dir, { recursive: true, force: true }));
  const collect = async (source: AsyncIterable<Buffer>): Promise<Buffer> => Buffer.concat(await Readable.from(source).toArray());

  it('gives the same bytes for the same tree, whatever its times, and tar unpacks it to that tree', async () => {
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
    fs.mkdirSync(two);
    execFileSync('tar', ['-xzf', '-', '-C', two], { input: first });
    expect(fs.readdirSync(two).sort()).toEqual(['empty', 'link', 'run', 'sub']);
    expect(fs.readFileSync(path.join(two, 'link/ä.txt'), 'utf8')).toBe('x'.repeat(70_000));
    expect(fs.statSync(path.join(two, 'run')).mode & 0o777).toBe(0o755);
    expect((await collect(packArchive(walkTree(two, limits)))).equals(first)).toBe(true);
  });
});
