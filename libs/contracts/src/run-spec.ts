import { z } from 'zod';
import { Budgets } from './budgets';
import { Digest, Name, OrgId, RunId, Timestamp } from './ids';
import { humanText } from './text';

const ref = z
  .string()
  .max(256)
  .regex(/^(?![-./])(?!.*(\.\.|@\{|\/\/|\.lock(\/|$)))[A-Za-z0-9._/-]+(?<![./])$/, 'must be a plain branch, tag or refs/… name');

/** Where the files come from. `path` and `clone_url` are read by the control plane, never by the sandbox. */
export const WorkspaceInput = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('scratch') }),
  z.strictObject({
    kind: z.literal('local_copy'),
    path: humanText(4096).refine((path) => path.startsWith('/'), 'must be an absolute path'),
  }),
  z.strictObject({
    kind: z.literal('git_repository'),
    clone_url: humanText(2048)
      .refine((url) => /^(https:\/\/|\/)/.test(url), 'must be https:// or an absolute local path that the configuration allows')
      .refine((url) => !/^https:\/\/[^/?#]*@/.test(url), 'must hold no user name or password: the specification of a run is kept for ever')
      .refine((url) => !/^https:.*[?#]/.test(url), 'must have no query and no fragment: the specification of a run is kept for ever'),
    ref: ref.optional(),
    commit_sha: z
      .string()
      .regex(/^[0-9a-f]{40}$/, 'must be a full 40-digit commit id')
      .optional(),
  }),
]);
export type WorkspaceInput = z.infer<typeof WorkspaceInput>;

const Rate = z.number().int().nonnegative();
const rates = { input: Rate, output: Rate, cache_read: Rate, cache_write: Rate };
/** Prices of one model in micro-USD per million tokens. */
export const ModelPrice = z.strictObject({
  ...rates,
  /** What is written to be kept for an hour; absent: as `cache_write`. */
  cache_write_1h: Rate.optional(),
  /** What a whole request costs instead when its input, cached parts included, is larger than this. */
  long_input: z.strictObject({ above_tokens: z.number().int().positive(), ...rates }).optional(),
});
export type ModelPrice = z.infer<typeof ModelPrice>;
export const PriceTable = z.strictObject({ version: z.string(), effective_from: z.string(), models: z.record(z.string(), ModelPrice) });
export type PriceTable = z.infer<typeof PriceTable>;

/** A frozen JSON schema. What it says is read by the validator that compiles it; one that does not compile makes its tool un-callable, never the run. */
const argumentSchemaCharsMax = 256 * 1024;
const ArgumentSchema = z
  .record(z.string(), z.unknown())
  .refine((schema) => JSON.stringify(schema).length <= argumentSchemaCharsMax, `must be at most ${argumentSchemaCharsMax} characters`);
const BrokeredToolName = z.string().max(256).startsWith('mcp__', 'must be a brokered tool, mcp__<server>__<tool>');

/**
 * Everything that governs a run, frozen before it starts and stored by its digest (`ledger.documents`). The policy stands inside in
 * full; task and system prompt only as salted digests, because a document is kept for ever and content can be erased.
 */
export const RunSpec = z.strictObject({
  spec_version: z.literal(1),
  run_id: RunId,
  org: OrgId,
  created_at: Timestamp,
  agent: z.strictObject({ id: z.uuid(), name: Name, revision: z.number().int().min(1) }),
  harness: z.strictObject({
    id: z.string(),
    image: z.string(),
    dialect: z.enum(['anthropic_messages', 'openai_responses', 'none']),
    tool_names: z.record(z.string(), z.string()),
    no_effect_tools: z.array(z.string()),
    call_form: z.enum(['canonical', 'codex']).default('canonical'),
    text_tools: z.array(z.string()).default([]),
    refusal: z.strictObject({ requiresErrorFlag: z.boolean(), prefixes: z.array(z.string()), wrongKind: z.string().optional() }),
    compared_fields: z.record(z.string(), z.array(z.string())).default({}),
    runs_edits: z.boolean().default(true),
    environment: z.record(z.string(), z.string()),
  }),
  runner_digest: Digest,
  model: z.string(),
  task_digest: Digest,
  system_prompt_digest: Digest.nullable(),
  policy: z.strictObject({
    name: Name,
    version: z.number().int().min(1),
    digest: Digest,
    source: z.string(),
    document: z.record(z.string(), z.unknown()),
  }),
  workspace: WorkspaceInput,
  autonomy: z.enum(['supervised', 'autonomous']),
  trust_tier: z.enum(['trusted', 'read_only']),
  budgets: Budgets,
  /** Canonical names; a call to anything else is denied `capability`. */
  tool_surface: z.array(z.string()),
  /** Argument schemas of the brokered tools on the surface, by canonical name. A brokered tool without one cannot be called. */
  tool_schemas: z.record(BrokeredToolName, ArgumentSchema).optional(),
  price_table: z.strictObject({ version: z.string(), digest: Digest, price: ModelPrice.nullable() }),
  invocation: z.strictObject({ kind: z.enum(['api', 'cli']), principal: z.string() }),
});
export type RunSpec = z.infer<typeof RunSpec>;
