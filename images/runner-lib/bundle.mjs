// The entry wrapper as an image of its own: what a runner in another language is started by.
import { bundleRunner } from './src/bundle-runner.mjs';

await bundleRunner({ packageDir: import.meta.dirname });
