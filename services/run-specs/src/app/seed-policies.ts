import { defaultOrg } from '@fluidbox/contracts';
import type { Ports } from './ports';
import { publishPolicy } from './publish-policy';

const author = { by: 'fluidbox', actor: 'service:run-specs', madeBy: null };

/** Written once, where the name is free. A seed that somebody changed or deleted, or a newer release's seed, never replaces what is there. */
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
