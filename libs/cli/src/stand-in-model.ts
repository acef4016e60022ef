import path from 'node:path';
import { type HarnessId, harnessOf } from '@fluidbox/contracts';
import { readScriptFile, startScriptedModel } from '@fluidbox/testing/model';
import { say } from './output';

type Environment = Readonly<Record<string, string | undefined>>;

/** Conversations of the stand-in: it plays the demo's task and says so to everything else. */
const standInScript = path.join(__dirname, '../demo/model.json');

/** What tells that somebody's model answers: a key, or an upstream of one's own. */
const providers = {
  anthropic_messages: { key: 'ANTHROPIC_API_KEY', url: 'FLUIDBOX_ANTHROPIC_URL' },
  openai_responses: { key: 'OPENAI_API_KEY', url: 'FLUIDBOX_OPENAI_URL' },
} as const;

const isSet = (environment: Environment, { key, url }: { key: string; url: string }): boolean =>
  (environment[key] ?? '') !== '' || (environment[url] ?? '') !== '';

/** The variable that gives this harness a real model; null when one is there, or when it needs none. */
export function missingKey(environment: Environment, harness: HarnessId): string | null {
  const { dialect } = harnessOf(harness);
  return dialect === 'none' || isSet(environment, providers[dialect]) ? null : providers[dialect].key;
}

/**
 * The environment to start a stack with. Without a model key a scripted model on a real socket takes the provider's place, said loudly,
 * so that everything can be tried for nothing. `harness`: the one that will be used; without it one provider of any harness is enough.
 */
export async function withModel<T>(
  environment: Environment,
  work: (environment: Environment) => Promise<T>,
  harness?: HarnessId,
): Promise<T> {
  const missing = Object.values(providers).filter((provider) => !isSet(environment, provider));
  const needed = harness === undefined ? missing.length === Object.keys(providers).length : missingKey(environment, harness) !== null;
  if (!needed) return work(environment);
  const model = await startScriptedModel({ script: readScriptFile(standInScript) });
  say(`no ${missing.map(({ key }) => key).join(' and no ')}: a scripted model stands in for the provider`);
  const standIn = missing.flatMap(({ key, url }) => [
    [url, model.url],
    [key, 'scripted-stand-in'],
  ]);
  try {
    return await work({ ...environment, ...Object.fromEntries(standIn) });
  } finally {
    await model.close();
  }
}
