import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';
import { displayPath } from './byte-path';
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
