import type { StreamRef } from '@fluidbox/contracts';
import { runStream, streamNameOf } from '@fluidbox/contracts';
import type { Ledger } from '@fluidbox/event-store';
import { bundleLines, type PublicKeySet } from '@fluidbox/seal';
import { z } from 'zod';

const pageSize = 500;

export interface ExportPorts {
  readonly ledger: Ledger;
  /** Compact JWS in the order of their events. */
  readonly checkpoints: (org: string, stream: string) => Promise<readonly string[]>;
  readonly publicKeys: () => PublicKeySet;
}

/** The record of a run as anybody can check it, line by line; without content, so erasing changes nothing in it. */
export async function exportBundle(ports: ExportPorts, org: string, runId: string, specDigest: string): Promise<AsyncGenerator<string>> {
  const stream = runStream(runId, org);
  // Before the events: a checkpoint never stands for an event that is not here.
  const checkpoints = await ports.checkpoints(org, streamNameOf(stream));
  const documents = await documentsOf(ports.ledger, specDigest);
  return bundleLines({
    org,
    stream: streamNameOf(stream),
    keys: ports.publicKeys(),
    documents,
    events: eventsOf(ports.ledger, stream),
    checkpoints,
  });
}

/** The frozen specification (its policy stands inside) and the price table it was made with. */
async function documentsOf(ledger: Ledger, specDigest: string): Promise<Buffer[]> {
  const spec = await ledger.store.document(specDigest);
  if (spec === null) return [];
  const { price_table: table } = z.object({ price_table: z.object({ digest: z.string() }) }).parse(JSON.parse(spec.toString('utf8')));
  const prices = await ledger.store.document(table.digest);
  return prices === null ? [spec] : [spec, prices];
}

async function* eventsOf(ledger: Ledger, stream: StreamRef): AsyncGenerator<{ seq: number; body: string; hash: string }> {
  for (let after = 0; ; ) {
    const page = await ledger.store.readWithHashes(stream, { after, limit: pageSize });
    yield* page;
    if (page.length < pageSize) return;
    after = page.at(-1)?.seq ?? after;
  }
}
