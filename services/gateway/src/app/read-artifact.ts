import { type ArtifactView, type EventData, Problem, runStream } from '@fluidbox/contracts';
import type { BlobStore, Ledger } from '@fluidbox/event-store';

const pageSize = 1000;

/** Artifacts of a run as its stream names them. */
export async function artifactsOf(ledger: Ledger, org: string, runId: string): Promise<ArtifactView[]> {
  const found: ArtifactView[] = [];
  let after = 0;
  for (;;) {
    const events = await ledger.store.read(runStream(runId, org), { after, limit: pageSize });
    for (const event of events) {
      if (event.type !== 'artifact.collected') continue;
      const data = event.data as EventData<'artifact.collected'>;
      found.push({
        id: data.artifact_id,
        kind: data.kind,
        name: data.name,
        content_type: data.content_type,
        bytes: data.bytes,
        sha256: data.sha256,
        truncated: data.truncated,
        created_at: event.occurredAt,
      });
    }
    if (events.length < pageSize) return found;
    after = events.at(-1)?.seq ?? after;
  }
}

export type ReadArtifact = (org: string, runId: string, sha256: string) => Promise<Buffer>;

/** Opens an artifact's blob with the run's key; artifacts are capped when collected, so they fit into memory. */
export function readArtifact(deps: { ledger: Ledger; blobs: BlobStore }): ReadArtifact {
  return async (org, runId, sha256) => {
    const stream = runStream(runId, org);
    const keys = await deps.ledger.keyring.keysOf(`${stream.category}-${stream.id}`);
    if (!(await deps.blobs.has(runId, sha256))) throw new Problem('not_found', 'artifact: its bytes are gone (erased or past retention)');
    const chunks: Buffer[] = [];
    for await (const chunk of deps.blobs.open(runId, Buffer.from(keys.exportRest().rest, 'base64'), sha256)) chunks.push(chunk);
    return Buffer.concat(chunks);
  };
}
