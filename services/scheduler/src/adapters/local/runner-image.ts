import fs from 'node:fs';
import path from 'node:path';
import { ImageManifest } from '@fluidbox/sandbox-kit';
import { readJsonFile } from '../files';

export interface RunnerImage {
  readonly digest: string;
  readonly bundleDir: string;
  readonly binds: readonly { readonly src: string; readonly dest: string }[];
}

/** Finds a built image by its folder's name. Throws with the fix when it is not built or a bind is missing. */
export function findRunnerImage(imagesDir: string, image: string): RunnerImage {
  const dist = path.join(imagesDir, image, 'dist');
  const manifest = readJsonFile(path.join(dist, 'image.json'), ImageManifest);
  if (manifest === null)
    throw new Error(
      `${path.join(dist, 'image.json')} is missing or not as agreed: run \`node ${path.join(imagesDir, image, 'bundle.mjs')}\``,
    );
  const bundleDir = path.join(dist, 'bundle');
  const binds = manifest.binds.map(({ src, dest }) => ({ src: path.resolve(dist, src), dest }));
  for (const source of [path.join(bundleDir, 'main.js'), ...binds.map(({ src }) => src)]) {
    if (!fs.existsSync(source))
      throw new Error(`${source} of image ${image} is missing: install the dependencies and build the image again`);
  }
  return { digest: manifest.digest, bundleDir, binds };
}
