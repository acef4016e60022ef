import fs from 'node:fs';
import path from 'node:path';
import { ImageManifest } from '@fluidbox/sandbox-kit';

/**
 * Digest of `images/<image>` as its build wrote it into `dist/image.json`. The scheduler mounts by the same file, so a spec and the
 * sandbox that serves it name the same bytes; this service needs no code of any image for it.
 */
export const runnerDigestIn =
  (imagesDir: string) =>
  (image: string): string | undefined => {
    const file = path.join(imagesDir, image, 'dist', 'image.json');
    if (!fs.existsSync(file)) return undefined;
    return ImageManifest.parse(JSON.parse(fs.readFileSync(file, 'utf8'))).digest;
  };
