import type { LaunchRun, ReplyOf, RunSpec, StreamRef, WorkspaceInput } from '@fluidbox/contracts';
import type { BlobStore, Ledger } from '@fluidbox/event-store';
import type { GrantedKeyring } from '@fluidbox/seal';
import type { SandboxPlan } from '../domain/sandbox-plan';
import type { SandboxState } from '../domain/sandbox-state';
import type { LeaseFile } from '../domain/supervision';

/** A run on this host: its folder and the uid that its processes have. */
export interface RunPlace {
  readonly runDir: string;
  readonly uid: number | null;
}

export interface WorkspaceFacts {
  readonly kind: WorkspaceInput['kind'];
  readonly baseDigest: string;
  readonly files: number;
  readonly bytes: number;
  readonly skipped: number;
  readonly commit?: string | undefined;
  readonly archiveDigest: string;
  readonly archiveBytes: number;
}

export interface CollectedDiff {
  readonly text: Buffer;
  readonly truncated: boolean;
  readonly files: number;
  readonly insertions: number;
  readonly deletions: number;
}

export interface ArtifactRow {
  readonly id: string;
  readonly run: StreamRef;
  readonly kind: string;
  readonly name: string;
  readonly contentType: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly truncated: boolean;
}

export interface Ports {
  readonly ledger: Ledger;
  readonly keyring: GrantedKeyring;
  readonly blobs: BlobStore;
  readonly launch: (stream: StreamRef) => Promise<ReplyOf<typeof LaunchRun>>;
  readonly runKeys: (stream: StreamRef) => Promise<{ rest: string; salt: string }>;
  readonly saveArtifact: (artifact: ArtifactRow) => Promise<void>;
  readonly places: {
    /** Makes the run's folder the first time. */
    take(stream: StreamRef): RunPlace;
    find(stream: StreamRef): RunPlace | null;
    /** Removes the folder, whatever an agent left in it. */
    clear(stream: StreamRef): Promise<void>;
  };
  readonly workspaces: {
    /** What was prepared before and is still there. */
    find(place: RunPlace): WorkspaceFacts | null;
    prepare(
      place: RunPlace,
      input: WorkspaceInput,
      putArchive: (archive: AsyncIterable<Buffer>) => Promise<{ sha256: string; bytes: number }>,
      signal: AbortSignal,
    ): Promise<WorkspaceFacts>;
    diff(place: RunPlace): Promise<CollectedDiff>;
  };
  readonly sandboxes: {
    /** Throws with the reason and its fix when this host or the image is not fit. */
    plan(place: RunPlace, spec: RunSpec, generation: number): SandboxPlan;
    start(
      plan: SandboxPlan,
      secrets: { tool: string; control: string; llm: string; task: string; system_prompt: string | null },
    ): Promise<SandboxState>;
    look(place: RunPlace): SandboxState;
    stop(place: RunPlace): Promise<SandboxState>;
    writeLease(place: RunPlace, lease: LeaseFile): void;
  };
}
