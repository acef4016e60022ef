import path from 'node:path';
import { type RunnerImage, runnerImageAt } from '@fluidbox/runner-lib/host';

/** The built image of the scripted harness. */
export function runnerImage(): RunnerImage {
  return runnerImageAt(path.resolve(__dirname, '..'));
}
