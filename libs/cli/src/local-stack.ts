import type { HarnessId, UpFile } from '@fluidbox/contracts';
import { homeFolder, homeLayout, liveStack, withStack } from '@fluidbox/embedded';
import { stackOptions } from './stack-options';
import { withModel } from './stand-in-model';

/** `started`: by this command, and it ends with it. */
export interface LocalStack {
  readonly up: UpFile;
  readonly started: boolean;
}

export interface LocalStackNeeds {
  /** Folders a local copy may be made of. */
  readonly sources?: readonly string[];
  /** The harness that will run, so that its model can be stood in for. */
  readonly harness?: HarnessId;
}

/** The stack of this folder when it lives, else one for the duration of `work`. */
export async function withLocalStack<T>(
  work: (stack: LocalStack) => Promise<T>,
  { sources = [], harness }: LocalStackNeeds = {},
): Promise<T> {
  const home = homeFolder();
  const live = await liveStack(homeLayout(home).upFile);
  if (live) return work({ up: live, started: false });
  return withModel(
    process.env,
    (environment) => {
      const allowed = [environment.FLUIDBOX_LOCAL_SOURCES, ...sources].filter((source) => source !== undefined && source !== '').join(':');
      return withStack(
        { ...stackOptions(home), environment: { ...environment, ...(allowed === '' ? {} : { FLUIDBOX_LOCAL_SOURCES: allowed }) } },
        (up) => work({ up, started: up.pid === process.pid }),
      );
    },
    harness,
  );
}
