import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { type RunnerImage, runnerImageAt } from '@fluidbox/runner-lib/host';

const packageDir = path.resolve(__dirname, '..');

/** The SDK's native program for this machine. Looked up from the SDK, whose optional dependency it is. */
export function agentProgramPath(): string {
  const sdk = fs.realpathSync(path.join(packageDir, 'node_modules/@anthropic-ai/claude-agent-sdk/package.json'));
  return createRequire(sdk).resolve(`@anthropic-ai/claude-agent-sdk-linux-${process.arch}/claude`);
}

/** The built image of the Claude harness, with the agent program bound at /opt/claude. */
export function runnerImage(): RunnerImage {
  return runnerImageAt(packageDir, [{ src: agentProgramPath(), dest: '/opt/claude' }]);
}
