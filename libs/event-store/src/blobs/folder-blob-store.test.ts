import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { blobChunkBytes, FolderBlobStore } from './folder-blob-store';

async function* parts(...buffers: Buffer[]): AsyncIterable<Buffer> {
  yield* buffers;
}
const collect = async (source: AsyncIterable<Buffer>): Promise<Buffer> => {
  const found: Buffer[] = [];
  for await (const part of source) found.push(part);
  return Buffer.concat(found);
};

describe('folder blob store', () => {
  let folder: string;
  let store: FolderBlobStore;
  const run = randomUUID();
  const key = randomBytes(32);
  const fileOf = (sha256: string): string => path.join(folder, run, sha256.slice(7));
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'blobs-'));
    store = new FolderBlobStore(folder);
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it.each([0, 1, blobChunkBytes - 1, blobChunkBytes, blobChunkBytes + 1, 5 * blobChunkBytes])(
    'gives back the %i bytes it was given',
    async (size) => {
      const bytes = randomBytes(size);
      const put = await store.put(run, key, parts(bytes.subarray(0, size >> 1), bytes.subarray(size >> 1)));
      expect(put).toEqual({ sha256: `sha256:${createHash('sha256').update(bytes).digest('hex')}`, bytes: size });
      // Compared as bytes: jest would walk through them one by one.
      expect(bytes.equals(await collect(store.open(run, key, put.sha256)))).toBe(true);
      expect(await store.has(run, put.sha256)).toBe(true);
      expect(await store.has(randomUUID(), put.sha256)).toBe(false);
    },
  );

  it('cuts any stream into the same chunks', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 2 * blobChunkBytes }), { maxLength: 6 }), async (sizes) => {
        const pieces = sizes.map((size) => randomBytes(size));
        const { sha256 } = await store.put(run, key, parts(...pieces));
        expect(Buffer.concat(pieces).equals(await collect(store.open(run, key, sha256)))).toBe(true);
      }),
      { numRuns: 20 },
    );
  });

  it('keeps the bytes sealed, and the file for its owner only', async () => {
    const plain = Buffer.from('a very recognisable sentence');
    const { sha256 } = await store.put(run, key, parts(plain));
    expect((await readFile(fileOf(sha256))).includes(plain)).toBe(false);
    expect((await stat(fileOf(sha256))).mode & 0o777).toBe(0o600);
  });

  it('refuses a flipped byte anywhere, a cut end, swapped chunks, another key and another run', async () => {
    const { sha256 } = await store.put(run, key, parts(randomBytes(3 * blobChunkBytes)));
    const whole = await readFile(fileOf(sha256));
    const sealedChunk = blobChunkBytes + 16;
    const swapped = Buffer.concat([
      whole.subarray(0, 36),
      whole.subarray(36 + sealedChunk, 36 + 2 * sealedChunk),
      whole.subarray(36, 36 + sealedChunk),
      whole.subarray(36 + 2 * sealedChunk),
    ]);
    const flips = [0, 5, 40, whole.length - 1, 36 + sealedChunk + 7].map((at) => {
      const copy = Buffer.from(whole);
      copy[at] = (copy[at] ?? 0) ^ 1;
      return copy;
    });
    for (const damaged of [
      ...flips,
      swapped,
      whole.subarray(0, 36 + 2 * sealedChunk),
      whole.subarray(0, -1),
      whole.subarray(0, 36),
      Buffer.alloc(0),
    ]) {
      await writeFile(fileOf(sha256), damaged);
      await expect(collect(store.open(run, key, sha256))).rejects.toMatchObject({ code: 'internal' });
    }
    await writeFile(fileOf(sha256), whole);
    expect(await collect(store.open(run, key, sha256))).toHaveLength(3 * blobChunkBytes);
    await expect(collect(store.open(run, randomBytes(32), sha256))).rejects.toMatchObject({ code: 'internal' });
  });

  it('leaves nothing behind when the source fails or is too large', async () => {
    async function* failing(): AsyncIterable<Buffer> {
      yield randomBytes(blobChunkBytes * 2);
      throw new Error('source broke');
    }
    await expect(store.put(run, key, failing())).rejects.toThrow('source broke');
    await expect(store.put(run, key, parts(randomBytes(11)), { bytesMax: 10 })).rejects.toMatchObject({ code: 'payload_too_large' });
    expect((await store.put(run, key, parts(randomBytes(10)), { bytesMax: 10 })).bytes).toBe(10);
    expect(await readdir(path.join(folder, run))).toHaveLength(1);
  });

  it('never leaves its folder, whatever it is asked for', async () => {
    await expect(store.put('../evil', key, parts(Buffer.from('x')))).rejects.toThrow();
    await expect(store.has(run, '../../etc/passwd')).rejects.toThrow();
    await expect(store.remove('..')).rejects.toThrow();
  });

  it('removes a run with all its blobs', async () => {
    const { sha256 } = await store.put(run, key, parts(Buffer.from('x')));
    await store.remove(run);
    expect(await store.has(run, sha256)).toBe(false);
  });
});
