import fs from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { extract, pack } from 'tar-stream';
import type { TreeLimits } from '../../domain/tree';
import { displayPath, pathOfBytes } from './byte-path';
import { TreeRefused, TreeWriter } from './tree-writer';
import type { TreeItem } from './walk-tree';

/** Fixed, so that the same tree gives the same bytes and therefore the same digest. */
const epoch = new Date(0);
const gzipLevel = 1;

/** A deterministic tar.gz of the files and links of a tree. */
export async function* packArchive(items: AsyncIterable<TreeItem>): AsyncGenerator<Buffer> {
  const tar = pack();
  const zipped = tar.pipe(createGzip({ level: gzipLevel }));
  tar.on('error', (error) => zipped.destroy(error));
  const filled = fill(tar, items).catch((error: unknown) => zipped.destroy(error instanceof Error ? error : new Error(String(error))));
  for await (const chunk of zipped) yield chunk as Buffer;
  await filled;
}

async function fill(tar: ReturnType<typeof pack>, items: AsyncIterable<TreeItem>): Promise<void> {
  for await (const item of items) {
    if (item.kind === 'skipped') continue;
    const name = displayPath(item.path);
    await new Promise<void>((done, failed) => {
      const ended = (error?: Error | null): void => (error ? failed(error) : done());
      if (item.kind === 'link')
        tar.entry({ name, type: 'symlink', linkname: displayPath(item.target), mtime: epoch, mode: 0o777, uid: 0, gid: 0, size: 0 }, ended);
      else
        tar.entry(
          { name, mtime: epoch, mode: item.executable ? 0o755 : 0o644, uid: 0, gid: 0, size: item.content.length },
          item.content,
          ended,
        );
    });
  }
  tar.finalize();
}

/**
 * Unpacks a tar.gz into a new folder, or not at all: an entry that is absolute, climbs, goes through a link, is a hard link or a device,
 * or a link that leads outside refuses the whole archive and removes the folder. Throws TreeRefused.
 */
export async function extractArchive(
  archive: AsyncIterable<Buffer>,
  folder: string,
  limits: TreeLimits,
  owner: number | null = null,
): Promise<{ files: number; bytes: number }> {
  fs.mkdirSync(folder, { mode: 0o755 });
  const writer = new TreeWriter(folder, limits, owner);
  try {
    const entries = extract();
    await Promise.all([pipeline(archive, createGunzip(), entries), writeEntries(entries, writer, limits)]);
    writer.refuseLeavingLinks();
    return { files: writer.files, bytes: writer.bytes };
  } catch (error) {
    fs.rmSync(folder, { recursive: true, force: true });
    throw error;
  } finally {
    writer.close();
  }
}

async function writeEntries(entries: ReturnType<typeof extract>, writer: TreeWriter, limits: TreeLimits): Promise<void> {
  for await (const entry of entries) {
    const { name, type, mode = 0, linkname } = entry.header;
    const path = pathOfBytes(Buffer.from(type === 'directory' ? name.replace(/\/+$/, '') : name, 'utf8'));
    const content = await readEntry(entry, limits.fileBytesMax, path);
    if (type === 'directory') writer.folder(path);
    else if (type === 'symlink') writer.link(path, pathOfBytes(Buffer.from(linkname ?? '', 'utf8')));
    else if (type === 'file') writer.file(path, (mode & 0o100) !== 0, content);
    else throw new TreeRefused(path, `is a ${type}, which an archive must not hold`);
  }
}

async function readEntry(entry: AsyncIterable<unknown>, bytesMax: number, path: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of entry as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new TreeRefused(path, `is larger than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
