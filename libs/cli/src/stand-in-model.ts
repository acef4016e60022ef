import path from 'node:path';
import { readScriptFile, startScriptedModel } from '@fluidbox/testing/model';
import { say } from './output';

type Environment = Readonly<Record<string, string | undefined>>;

/** Conversations of the stand-in: it plays the demo's task and says so to everything else. */
const standInScript = path.join(__dirname, '../demo/model.json');

/** True when the provider answers: a key, or an upstream of one's own, is set. */
export const hasProvider = (environment: Environment): boolean =>
  (environment.ANTHROPIC_API_KEY ?? '') !== '' || (environment.FLUIDBOX_ANTHROPIC_URL ?? '') !== '';

/**
 * The environment to start a stack with. Without a model key a scripted model on a real socket takes the provider's place, said loudly,
 * so that everything can be tried for nothing.
 */
export async function withModel<T>(environment: Environment, work: (environment: Environment) => Promise<T>): Promise<T> {
  if (hasProvider(environment)) return work(environment);
  const model = await startScriptedModel({ script: readScriptFile(standInScript) });
  say('no ANTHROPIC_API_KEY: a scripted model stands in for the provider');
  try {
    return await work({ ...environment, FLUIDBOX_ANTHROPIC_URL: model.url, ANTHROPIC_API_KEY: 'scripted-stand-in' });
  } finally {
    await model.close();
  }
}
