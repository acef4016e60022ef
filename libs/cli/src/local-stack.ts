import type { UpFile } from '@fluidbox/contracts';
import { homeFolder, homeLayout, liveStack, withStack } from '@fluidbox/embedded';
import { stackOptions } from './stack-options';
import { withModel } from './stand-in-model';

/** The stack of this folder when it lives, else one for the duration of `work`. `sources`: folders a local copy may be made of. */
export async function withLocalStack<T>(work: (up: UpFile) => Promise<T>, sources: readonly string[] = []): Promise<T> {
  const home = homeFolder();
  const live = await liveStack(homeLayout(home).upFile);
  if (live) return work(live);
  return withModel(process.env, (environment) => {
    const allowed = [environment.FLUIDBOX_LOCAL_SOURCES, ...sources].filter((source) => source !== undefined && source !== '').join(':');
    return withStack(
      { ...stackOptions(home), environment: { ...environment, ...(allowed === '' ? {} : { FLUIDBOX_LOCAL_SOURCES: allowed }) } },
      work,
    );
  });
}
