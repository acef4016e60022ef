import { bundleRunner } from '@fluidbox/runner-lib/bundle';

await bundleRunner({ packageDir: import.meta.dirname });
