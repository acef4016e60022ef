import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { Digest, Problem, RunId } from '@fluidbox/contracts';
import type { BlobStore } from '../api';

/**
 * One file per blob: `<folder>/<run>/<sha256 of the plain bytes>`.
 *
 * Format: `FBX1`, 32 bytes of salt, then chunks of 64 KiB plain, each AES-256-GCM with its tag behind it. The file's key is HKDF(run key, salt, run), so
 * a nonce is never used twice under one key; the nonce is the chunk's number and whether it is the last one, so chunks cannot be dropped, swapped
 * or cut off. Written aside, synced and renamed: a blob is there whole or not at all.
 */
const magic = Buffer.from('FBX1');
const saltBytes = 32;
const tagBytes = 16;
export const blobChunkBytes = 64 * 1024;

export class FolderBlobStore implements BlobStore {
  constructor(private readonly folder: string) {}

  async put(
    runId: string,
    key: Buffer,
    source: AsyncIterable<Buffer>,
    options: { bytesMax?: number } = {},
  ): Promise<{ sha256: string; bytes: number }> {
    const folder = this.#folderOf(runId);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const draft = path.join(folder, `.draft-${randomUUID()}`);
    const file = await open(draft, 'wx', 0o600);
    try {
      const salt = randomBytes(saltBytes);
      const fileKey = keyOf(key, salt, runId);
      const digest = createHash('sha256');
      let bytes = 0;
      let number = 0;
      await file.write(Buffer.concat([magic, salt]));
      for await (const { chunk, last } of inChunks(source)) {
        bytes += chunk.length;
        if (bytes > (options.bytesMax ?? Number.POSITIVE_INFINITY))
          throw new Problem('payload_too_large', `a blob of run ${runId} has more than ${options.bytesMax} bytes`);
        digest.update(chunk);
        await file.write(sealChunk(fileKey, number, last, chunk));
        number += 1;
      }
      await file.sync();
      const sha256 = `sha256:${digest.digest('hex')}`;
      await rename(draft, this.#fileOf(runId, sha256));
      await syncFolder(folder);
      return { sha256, bytes };
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    } finally {
      await file.close();
    }
  }

  /** Ends with an error when the bytes are not those of the digest; what came before is authentic but must not be used then. */
  async *open(runId: string, key: Buffer, sha256: string): AsyncIterable<Buffer> {
    const digest = createHash('sha256');
    let header: Buffer | null = null;
    let fileKey: Buffer = Buffer.alloc(0);
    let number = 0;
    let ended = false;
    for await (const { chunk, last } of inChunks(createReadStream(this.#fileOf(runId, sha256), { highWaterMark: 256 * 1024 }), [
      magic.length + saltBytes,
      blobChunkBytes + tagBytes,
    ])) {
      if (header === null) {
        header = chunk;
        if (chunk.length !== magic.length + saltBytes || !chunk.subarray(0, magic.length).equals(magic))
          throw damaged(runId, sha256, 'its header is wrong');
        fileKey = keyOf(key, chunk.subarray(magic.length), runId);
        if (last) throw damaged(runId, sha256, 'it is cut off');
        continue;
      }
      const plain = openChunk(fileKey, number, last, chunk);
      if (plain === null) throw damaged(runId, sha256, `chunk ${number} does not open: another key, or it was changed or cut off`);
      digest.update(plain);
      number += 1;
      ended = last;
      if (plain.length > 0) yield plain;
    }
    if (!ended) throw damaged(runId, sha256, 'it is cut off');
    if (`sha256:${digest.digest('hex')}` !== sha256) throw damaged(runId, sha256, 'its bytes have another digest');
  }

  async has(runId: string, sha256: string): Promise<boolean> {
    return access(this.#fileOf(runId, sha256)).then(
      () => true,
      () => false,
    );
  }

  async remove(runId: string): Promise<void> {
    await rm(this.#folderOf(runId), { recursive: true, force: true });
  }

  // Both parts are checked, because they come from tokens and events: a name never leads out of the folder.
  #folderOf(runId: string): string {
    return path.join(this.folder, RunId.parse(runId));
  }
  #fileOf(runId: string, sha256: string): string {
    return path.join(this.#folderOf(runId), Digest.parse(sha256).slice('sha256:'.length));
  }
}

const damaged = (runId: string, sha256: string, why: string): Problem =>
  new Problem('internal', `blob ${sha256} of run ${runId} is damaged: ${why}`);
const keyOf = (key: Buffer, salt: Buffer, runId: string): Buffer =>
  Buffer.from(hkdfSync('sha256', key, salt, `fluidbox/blob/1/${runId}`, 32));

function nonceOf(number: number, last: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt32BE(number, 7);
  nonce[11] = last ? 1 : 0;
  return nonce;
}
function sealChunk(key: Buffer, number: number, last: boolean, plain: Buffer): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, nonceOf(number, last));
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}
function openChunk(key: Buffer, number: number, last: boolean, sealed: Buffer): Buffer | null {
  if (sealed.length < tagBytes) return null;
  const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(number, last));
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, -tagBytes)), decipher.final()]);
  } catch {
    return null; // GCM says no more than that it is not authentic.
  }
}

/** Cuts a stream into chunks of these sizes (the last size repeats) and says which one is the last: an empty stream is one empty last chunk. */
async function* inChunks(
  source: AsyncIterable<Buffer>,
  sizes: readonly number[] = [blobChunkBytes],
): AsyncIterable<{ chunk: Buffer; last: boolean }> {
  let parts: Buffer[] = [];
  let held = 0;
  let index = 0;
  const size = (): number => sizes[Math.min(index, sizes.length - 1)] ?? blobChunkBytes;
  for await (const part of source) {
    parts.push(part);
    held += part.length;
    // More than a chunk must be there: only then is it certain that the chunk is not the last one.
    while (held > size()) {
      const all = Buffer.concat(parts, held);
      const chunk = all.subarray(0, size());
      parts = [all.subarray(size())];
      held -= chunk.length;
      index += 1;
      yield { chunk, last: false };
    }
  }
  yield { chunk: Buffer.concat(parts, held), last: true };
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
