import { bundleRunner } from '../runner-lib/bundle-runner.mjs';

await bundleRunner({ packageDir: import.meta.dirname });
