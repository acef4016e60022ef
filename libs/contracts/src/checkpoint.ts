import { z } from 'zod';
import { OrgId, Timestamp } from './ids';

/** JOSE `typ` of a checkpoint. Redaction knows it: a checkpoint is evidence and not a bearer token, though both are compact JWS. */
export const checkpointType = 'fbx-checkpoint+jws';

/** What a checkpoint signs, as canonical JSON: at `at` the stream ended at `seq` with chain hash `hash`. */
export const Checkpoint = z.strictObject({
  org: OrgId,
  stream: z.string().max(200),
  seq: z.number().int().min(1),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  at: Timestamp,
});
export type Checkpoint = z.infer<typeof Checkpoint>;
