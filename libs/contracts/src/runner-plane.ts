import { z } from 'zod';
import { ToolCallId } from './ids';

/** The runner contract: bodies of `/internal/sessions/{id}/*` and `/internal/token/renew`. */
export const audiences = ['tool', 'control', 'workspace', 'llm'] as const;
export const Audience = z.enum(audiences);
export type Audience = z.infer<typeof Audience>;

/** Byte-exact: runners key their fatal abort on this string. */
export const wrongAudienceBody = '{"error":"wrong_audience"}';
export const staleLeaseBody = '{"error":"stale_lease"}';

export const runnerBodyBytesMax = 2 * 1024 * 1024;
export const llmBodyBytesMax = 32 * 1024 * 1024;
export const permissionPaddingMs = 15_000;

const toolCall = { tool_call_id: ToolCallId, tool: z.string().min(1).max(256) };

/**
 * Where the paths of a call lead, as the runner found them behind symlinks. They are judged beside the paths as written, never instead of them, so a
 * runner that leaves them out gains nothing that the raw path would not give it.
 */
export const ResolvedPaths = z.array(z.string().min(1).max(4096)).max(256);

/** POST /permission and POST /tools/call (audience tool). Text in `input` comes from the agent: it is mended, not refused. */
export const PermissionRequest = z.strictObject({
  ...toolCall,
  input: z.record(z.string(), z.unknown()).default({}),
  resolved_paths: ResolvedPaths.optional(),
});
export type PermissionRequest = z.infer<typeof PermissionRequest>;
export const PermissionAnswer = z.discriminatedUnion('decision', [
  z.strictObject({ decision: z.literal('allow'), updated_input: z.record(z.string(), z.unknown()).optional() }),
  z.strictObject({ decision: z.literal('deny'), message: z.string(), code: z.string().optional() }),
]);
export type PermissionAnswer = z.infer<typeof PermissionAnswer>;

/** Answer to POST /tools/call. */
export const ToolsCallAnswer = z.union([
  z.strictObject({
    ok: z.literal(true),
    result: z.strictObject({ content: z.array(z.unknown()), is_error: z.boolean(), structured_content: z.unknown().optional() }),
  }),
  z.strictObject({ ok: z.literal(false), denied: z.literal(true), message: z.string() }),
  z.strictObject({ ok: z.literal(false), error: z.string() }),
]);
export type ToolsCallAnswer = z.infer<typeof ToolsCallAnswer>;

/** POST /events (audience control): the three types a runner may post; anything else is a 422, `tool.requested` is dropped. */
export const ReportedEvent = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('agent.message'),
    data: z.strictObject({ role: z.enum(['assistant', 'system']), text: z.string().max(512 * 1024) }),
  }),
  z.strictObject({
    type: z.literal('tool.completed'),
    data: z.strictObject({
      ...toolCall,
      ok: z.boolean(),
      summary: z
        .string()
        .max(64 * 1024)
        .optional(),
    }),
  }),
  z.strictObject({
    type: z.literal('run.error'),
    data: z.strictObject({
      code: z
        .string()
        .max(64)
        .regex(/^[a-z0-9_]+$/)
        .default('runner_error'),
      message: z.string().max(64 * 1024),
    }),
  }),
]);
export type ReportedEvent = z.infer<typeof ReportedEvent>;
export const EventsRequest = z.strictObject({ actor: z.string().max(64).optional(), body: ReportedEvent });
export type EventsRequest = z.infer<typeof EventsRequest>;
export const EventsAnswer = z.union([z.strictObject({ seq: z.number().int() }), z.strictObject({ seq: z.null(), dropped: z.string() })]);

/** POST /heartbeat (audience control). Level-triggered: every beat repeats `quiesce` while the run winds down. */
export const HeartbeatAnswer = z.strictObject({ ok: z.literal(true), action: z.enum(['quiesce']).nullable() });
export type HeartbeatAnswer = z.infer<typeof HeartbeatAnswer>;

/** POST /result (audience control). Other outcomes are a 422: a runner cannot cancel or bankrupt itself. */
export const ResultRequest = z.strictObject({
  outcome: z.enum(['completed', 'failed']),
  summary: z
    .string()
    .max(64 * 1024)
    .optional(),
});
export type ResultRequest = z.infer<typeof ResultRequest>;
export const ResultAnswer = z.strictObject({ ok: z.literal(true), note: z.enum(['already terminal', 'finalizing']).optional() });
export type ResultAnswer = z.infer<typeof ResultAnswer>;

/** POST /internal/token/renew (audience control): extends the lease of all four tokens; returns no token. */
export const RenewRequest = z.strictObject({ ttl_secs: z.number().int().min(1).max(1_000_000).default(900) });
export const RenewAnswer = z.strictObject({ renewed: z.boolean(), ttl_secs: z.number().int() });
export const leaseTtlSecsMax = 900;

/** What a runner reads, once, from the descriptor named by FLUIDBOX_TOKENS_FD: one JSON line, then end of file. */
export const RunnerSecrets = z.strictObject({
  tool: z.string(),
  control: z.string(),
  llm: z.string(),
  task: z.string().optional(),
  system_prompt: z.string().nullable().optional(),
});
export type RunnerSecrets = z.infer<typeof RunnerSecrets>;

/** Claims of a run token (EdDSA JWT). Validity is the run's lease in the fold, not `exp`. */
export const RunTokenClaims = z.object({
  iss: z.literal('fluidbox'),
  aud: Audience,
  sub: z.uuid(),
  org: z.string(),
  gen: z.number().int().min(1),
  jti: z.string(),
  exp: z.number(),
});
export type RunTokenClaims = z.infer<typeof RunTokenClaims>;
