import { defaultOrg } from '@fluidbox/contracts';
import { publishPolicy, seedAuthor } from './import-policy';
import type { Ports } from './ports';

/** Written once, where the name is free. A seed that somebody changed, or a newer release's seed, never replaces what is there. */
export async function seedPolicies(ports: Ports, seeds: readonly { readonly name: string; readonly source: string }[]): Promise<void> {
  for (const { name, source } of seeds) {
    await publishPolicy(ports, {
      org: defaultOrg,
      name,
      by: seedAuthor,
      body: { source, summary: 'comes with fluidbox' },
      onlyIfAbsent: true,
    });
  }
}
