import { z } from 'zod';
import { Count, Digest } from '../ids';
import type { EventRows } from './event-rows';

export const ArtifactKind = z.enum(['diff', 'archive', 'log']);

/** The workspace, the sandbox and what is collected from it. */
export const sandboxEvents = {
  'workspace.initialized': {
    appender: 'scheduler',
    data: z.strictObject({
      kind: z.enum(['scratch', 'local_copy', 'git_repository']),
      base_digest: Digest,
      archive_digest: Digest,
      archive_bytes: Count,
      files: Count,
      bytes: Count,
      commit: z.string().optional(),
      skipped: Count,
    }),
  },
  'sandbox.started': {
    appender: 'scheduler',
    data: z.strictObject({
      generation: z.number().int(),
      provider: z.enum(['local', 'docker', 'kubernetes']),
      sandbox_id: z.string(),
      runner_digest: Digest,
      isolation: z.strictObject({
        namespaces: z.boolean(),
        seccomp: z.boolean(),
        unprivileged_uid: z.boolean(),
        limits: z.enum(['cgroup2', 'cgroup1', 'rlimit']),
      }),
    }),
  },
  'sandbox.exited': {
    appender: 'scheduler',
    data: z.strictObject({
      generation: z.number().int(),
      sandbox_id: z.string(),
      exit_code: z.number().int().nullable(),
      signal: z.string().nullable(),
      cause: z.enum(['exited', 'stopped', 'lease_dead', 'failed', 'lost']),
    }),
    content: z.strictObject({ stderr_tail: z.string() }),
  },
  'artifact.collected': {
    appender: 'scheduler',
    data: z.strictObject({
      artifact_id: z.string(),
      kind: ArtifactKind,
      name: z.string(),
      content_type: z.string(),
      bytes: Count,
      sha256: Digest,
      truncated: z.boolean(),
      files: Count,
      insertions: Count,
      deletions: Count,
    }),
  },
  'artifact.missing': {
    appender: 'scheduler',
    data: z.strictObject({ kind: ArtifactKind, reason: z.string().max(200) }),
    // What went wrong, where something did: it may name files of the agent, which `reason` never does.
    content: z.strictObject({ detail: z.string() }),
  },
} as const satisfies EventRows;
