import type { WorkspaceInput } from '@fluidbox/contracts';
import { z } from 'zod';
import type { CollectedDiff, Ports, RunPlace, WorkspaceFacts } from '../app/ports';
import type { ManifestEntry } from '../domain/tree';
import { readJsonFile, runFiles, writeFileAtomically } from './files';
import { makeDiff } from './git/make-diff';
import { packArchive } from './workspace/archive';
import { prepareWorkspace, type WorkspaceSettings } from './workspace/prepare-workspace';
import { walkTree } from './workspace/walk-tree';

const Facts: z.ZodType<WorkspaceFacts> = z.strictObject({
  kind: z.enum(['scratch', 'local_copy', 'git_repository']),
  baseDigest: z.string(),
  files: z.number(),
  bytes: z.number(),
  skipped: z.number(),
  commit: z.string().optional(),
  archiveDigest: z.string(),
  archiveBytes: z.number(),
});
const Manifest: z.ZodType<ManifestEntry[]> = z.array(
  z.strictObject({ path: z.string(), mode: z.enum(['100644', '100755', '120000']), sha256: z.string(), size: z.number() }),
);

/** An agent may make more and larger files than a source may bring; the diff looks at this many times as much before it gives up. */
const agentFactor = 4;

/** Workspaces in the run's folder. `workspace.json` is written last: while it is missing, preparing begins anew. */
export const workspaces = (settings: WorkspaceSettings): Ports['workspaces'] => ({
  find: (place) => readJsonFile(runFiles(place.runDir).prepared, Facts),

  async prepare(place, input, putArchive, signal) {
    const files = runFiles(place.runDir);
    const { commit, ...prepared } = await prepareWorkspace(input satisfies WorkspaceInput, place.runDir, place.uid, settings, signal);
    const archive = await putArchive(packArchive(walkTree(files.workspace, settings.limits)));
    const facts = { ...prepared, ...(commit === undefined ? {} : { commit }), archiveDigest: archive.sha256, archiveBytes: archive.bytes };
    writeFileAtomically(files.prepared, JSON.stringify(facts));
    return facts;
  },

  async diff(place: RunPlace): Promise<CollectedDiff> {
    const files = runFiles(place.runDir);
    const manifest = readJsonFile(files.manifest, Manifest);
    if (manifest === null) throw new Error('the pristine base of the workspace is gone');
    const { filesMax, bytesMax, fileBytesMax } = settings.limits;
    return makeDiff({ gitDir: files.base, uid: place.uid }, manifest, files.workspace, {
      filesMax: filesMax * agentFactor,
      bytesMax: bytesMax * agentFactor,
      fileBytesMax,
    });
  },
});
