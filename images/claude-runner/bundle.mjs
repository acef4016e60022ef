import { createRequire } from 'node:module';
import { bundleRunner } from '@fluidbox/runner-lib/bundle';

// The native program is an optional dependency of the SDK, found from the SDK's own place; it is bound, not bundled.
const sdk = createRequire(import.meta.url).resolve('@anthropic-ai/claude-agent-sdk');
const agentProgram = createRequire(sdk).resolve(`@anthropic-ai/claude-agent-sdk-linux-${process.arch}/claude`);

await bundleRunner({ packageDir: import.meta.dirname, agentPrograms: [{ src: agentProgram, dest: '/opt/claude' }] });
