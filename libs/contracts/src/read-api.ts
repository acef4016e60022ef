import { z } from 'zod';
import { Count, MicroUsd, Timestamp } from './ids';
import { ArtifactView } from './public-api';

/** What the read models answer: lists and sums over many runs, and how they are kept. */
export const readModelNames = ['runs', 'approvals', 'artifacts', 'costs', 'gate'] as const;
export const ReadModelName = z.enum(readModelNames);
export type ReadModelName = z.infer<typeof ReadModelName>;

/** The live version of a read model, and the one that is being filled beside it. Positions are of the global order. */
export const ReadModelView = z.strictObject({
  name: ReadModelName,
  version: Count,
  rebuilding: z
    .strictObject({ version: Count, position: Count, target: Count, started_at: Timestamp, problem: z.string().nullable() })
    .nullable(),
});
export type ReadModelView = z.infer<typeof ReadModelView>;

/** An event that a follower gave up on after its tries; it is handled again when somebody asks for it. */
export const ParkedView = z.strictObject({
  follower: z.string(),
  position: Count,
  reason: z.string(),
  tries: Count,
  at: Timestamp,
  replay_requested_at: Timestamp.nullable(),
});
export type ParkedView = z.infer<typeof ParkedView>;

export const costDimensions = ['agent', 'model', 'day'] as const;
export const CostDimension = z.enum(costDimensions);
export type CostDimension = z.infer<typeof CostDimension>;
/** Sums of one agent, model or day. `key` is its name, or the day as YYYY-MM-DD (UTC). */
export const CostGroup = z.strictObject({
  key: z.string(),
  model_requests: Count,
  input_tokens: Count,
  output_tokens: Count,
  cache_read_tokens: Count,
  cache_write_tokens: Count,
  cost_micro_usd: MicroUsd,
});
export type CostGroup = z.infer<typeof CostGroup>;

export const gateDimensions = ['tool', 'source', 'rule', 'agent', 'policy', 'day'] as const;
export const GateDimension = z.enum(gateDimensions);
export type GateDimension = z.infer<typeof GateDimension>;
/** Decisions of one group. `ask`: calls that waited for a person; how they ended counts among the others. `key` of a rule: `<policy>@<version>#<index>`. */
export const GateGroup = z.strictObject({ key: z.string(), allow: Count, deny: Count, ask: Count });
export type GateGroup = z.infer<typeof GateGroup>;

/** Groups of a period, both days included. `truncated`: there are more groups than an answer holds; the smallest are left out. */
export interface Summary<Dimension extends string, Group> {
  readonly by: Dimension;
  readonly from: string;
  readonly to: string;
  readonly data: readonly Group[];
  readonly truncated: boolean;
}

/** An artifact in a list over runs. */
export const ListedArtifact = ArtifactView.extend({ run_id: z.uuid() });
export type ListedArtifact = z.infer<typeof ListedArtifact>;
