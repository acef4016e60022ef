import { z } from 'zod';

/**
 * `images/<image>/dist/image.json`, written by the image's bundle.mjs and read by the scheduler: what a runner needs bound into
 * its sandbox. `dist/bundle/` stands beside it and is bound read-only at /opt/runner; it holds main.js, strict.bpf and sh-wrap.
 */
export const ImageManifest = z.strictObject({
  /** SHA-256 over names and contents of the bundle. */
  digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  /** Further read-only binds. `src` is absolute or relative to the folder of image.json; `dest` is below /opt. */
  binds: z.array(
    z.strictObject({
      src: z.string().min(1),
      dest: z.string().regex(/^\/opt\/(?!runner$|node$|runner\/|node\/)[a-z0-9._-]+$/, 'must be one name below /opt'),
    }),
  ),
});
export type ImageManifest = z.infer<typeof ImageManifest>;
