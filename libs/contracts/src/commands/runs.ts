import { z } from 'zod';
import { Digest, RunId, Timestamp } from '../ids';
import { CreateSessionBody, Principal } from '../public-api';
import { HeartbeatAnswer, ReportedEvent, ResultAnswer, ResultRequest } from '../runner-plane';
import { command, run } from './command';

/** gateway → runs. The same Idempotency-Key answers the first run (`replayed`), with another body `idempotency_mismatch`. */
export const CreateRun = command(
  'runs',
  'create',
  z.strictObject({
    principal: Principal,
    idempotency_key: z.string().min(1).max(200).nullable(),
    body: CreateSessionBody,
    invocation: z.enum(['api', 'cli']),
  }),
  z.strictObject({ run_id: RunId, replayed: z.boolean() }),
);
export const CancelRun = command(
  'runs',
  'cancel',
  z.strictObject({ ...run, principal: Principal }),
  z.strictObject({ cancelled: z.boolean() }),
);
/** gateway → runs, for an admin: destroys the content of a run that has ended. Asked again it answers what was recorded then. */
export const EraseContent = command(
  'runs',
  'erase_content',
  z.strictObject({ ...run, principal: Principal }),
  z.strictObject({ erased_at: Timestamp, erased_by: z.string() }),
);
/** scheduler → runs: the next generation of a run that was created and has no live sandbox. */
export const LaunchRun = command(
  'runs',
  'launch',
  z.strictObject({ ...run }),
  z.strictObject({
    generation: z.number().int(),
    valid_until: Timestamp,
    tokens: z.strictObject({ tool: z.string(), control: z.string(), workspace: z.string(), llm: z.string() }),
    keys: z.strictObject({ rest: z.string(), salt: z.string() }),
    task: z.string(),
    system_prompt: z.string().nullable(),
    spec_digest: Digest,
  }),
);
/** scheduler → runs, after a restart: keys of a run that it already launched (to collect a diff). Refused once the run is terminal. */
export const RunKeys = command('runs', 'run_keys', z.strictObject({ ...run }), z.strictObject({ rest: z.string(), salt: z.string() }));
/** runner-gateway → runs: what a runner reports. */
export const ReportEvent = command(
  'runs',
  'report_event',
  z.strictObject({ ...run, generation: z.number().int(), event: ReportedEvent }),
  z.strictObject({ seq: z.number().int() }),
);
export const Heartbeat = command('runs', 'heartbeat', z.strictObject({ ...run, generation: z.number().int() }), HeartbeatAnswer);
export const ReportResult = command(
  'runs',
  'report_result',
  z.strictObject({ ...run, generation: z.number().int(), result: ResultRequest }),
  ResultAnswer,
);
export const RenewLease = command(
  'runs',
  'renew_lease',
  z.strictObject({ ...run, generation: z.number().int(), ttl_secs: z.number().int().min(1).max(900) }),
  z.strictObject({ renewed: z.boolean(), ttl_secs: z.number().int() }),
);
/** runner-gateway → runs: what it needs to stream the sealed archive of a run. */
export const WorkspaceKey = command(
  'runs',
  'workspace_key',
  z.strictObject({ ...run, generation: z.number().int() }),
  z.strictObject({ archive_digest: Digest, archive_bytes: z.number().int(), key: z.string() }),
);
