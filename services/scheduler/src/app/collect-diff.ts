import type { EventContent, EventData, StreamRef } from '@fluidbox/contracts';
import type { RunState } from '@fluidbox/run-stream';
import type { CollectedDiff, Ports } from './ports';
import { ensureKeys, reasonOf, recordFact } from './record';

/** Once the sandbox is dead: the diff as a sealed blob, a row, and an event, or the reason why there is none. The run's end waits for it. */
export async function collectDiff(ports: Ports, stream: StreamRef, run: RunState): Promise<void> {
  const place = ports.places.find(stream);
  const prepared = place !== null && ports.workspaces.find(place) !== null;
  if (!prepared) return recordMissing(ports, stream, run, { data: { kind: 'diff', reason: 'no workspace was prepared' } });
  let diff: CollectedDiff;
  try {
    diff = await ports.workspaces.diff(place);
  } catch (error) {
    await ensureKeys(ports, stream);
    const data = { kind: 'diff', reason: 'the diff could not be made' } as const;
    return recordMissing(ports, stream, run, { data, content: { detail: reasonOf(error) } });
  }
  const key = await ensureKeys(ports, stream);
  const { sha256, bytes } = await ports.blobs.put(stream.id, key, once(diff.text));
  const artifact = { id: `art_${stream.id}_diff`, kind: 'diff', name: 'changes.patch', contentType: 'text/x-diff' } as const;
  await ports.saveArtifact({ ...artifact, run: stream, bytes, sha256, truncated: diff.truncated });
  await recordFact(ports, stream, run.generation, {
    type: 'artifact.collected',
    data: {
      artifact_id: artifact.id,
      kind: artifact.kind,
      name: artifact.name,
      content_type: artifact.contentType,
      bytes,
      sha256,
      truncated: diff.truncated,
      files: diff.files,
      insertions: diff.insertions,
      deletions: diff.deletions,
    },
  });
}

interface Missing {
  readonly data: EventData<'artifact.missing'>;
  readonly content?: EventContent<'artifact.missing'>;
}
const recordMissing = (ports: Ports, stream: StreamRef, run: RunState, missing: Missing): Promise<void> =>
  recordFact(ports, stream, run.generation, { type: 'artifact.missing', ...missing });

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
