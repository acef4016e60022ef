import type { ModelRoute } from '../domain/dialect';
import { ModelRequestRefused, refusals } from '../domain/refusal';
import type { Served } from './ask-upstreams';
import type { Exchange, UpstreamAnswer } from './ports';

/** Passes an answer that costs nothing: the provider's own refusals, token counts. */
export async function relayUnmetered(
  answer: UpstreamAnswer,
  { dialect }: ModelRoute,
  exchange: Exchange,
  { upstream }: Served,
): Promise<void> {
  // The runner's token is good; a 401 about ours would make it believe otherwise.
  if (answer.status === 401) {
    answer.discard();
    const whose =
      upstream === null ? `this deployment; check ${dialect.provider.keyVariable}` : `the upstream ${upstream}; an admin must set it again`;
    throw new ModelRequestRefused(refusals.upstreamUnusable(`the model provider refuses the key of ${whose}`));
  }
  exchange.head(answer.status, answer.headers);
  try {
    await answer.read((bytes) => exchange.write(bytes));
  } catch (error) {
    exchange.cut();
    if (!exchange.hungUp.aborted) throw error;
    return;
  }
  exchange.end();
}
