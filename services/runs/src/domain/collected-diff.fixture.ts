import type { EventData } from '@fluidbox/contracts';

/** Data of the `artifact.collected` that a test's run ends with. */
export const collectedDiff = (sha256: string): EventData<'artifact.collected'> => ({
  artifact_id: 'a',
  kind: 'diff',
  name: 'changes.diff',
  content_type: 'text/x-diff',
  bytes: 1,
  sha256,
  truncated: false,
  files: 1,
  insertions: 1,
  deletions: 0,
});
