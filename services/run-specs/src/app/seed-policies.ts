import { defaultOrg } from '@fluidbox/contracts';
import { publishPolicy } from './import-policy';
import type { Ports } from './ports';

const author = { by: 'fluidbox', actor: 'service:run-specs' };

/** Written once, where the name is free. A seed that somebody changed, or a newer release's seed, never replaces what is there. */
export async function seedPolicies(ports: Ports, seeds: readonly { readonly name: string; readonly source: string }[]): Promise<void> {
  for (const { name, source } of seeds) {
    await publishPolicy(ports, {
      org: defaultOrg,
      name,
      author,
      body: { source, summary: 'comes with fluidbox' },
      onlyIfAbsent: true,
    });
  }
}
