import { z } from 'zod';

/** A run ("session" on the wire): UUIDv7, or UUIDv5(org, caller, Idempotency-Key) when the caller gave a key. */
export const RunId = z.uuid().brand<'RunId'>();
export type RunId = z.infer<typeof RunId>;

/** The harness's own id of a tool call. Anything else is a 422, because ids end up in approval ids and subjects. */
export const toolCallIdPattern = /^[A-Za-z0-9_.:-]{1,128}$/;
export const ToolCallId = z.string().regex(toolCallIdPattern, 'must be 1-128 of A-Z a-z 0-9 _ . : -');
export type ToolCallId = z.infer<typeof ToolCallId>;

/** `apr_<run>_<call>`: derived, so a retry can never create a second approval. */
export const approvalIdOf = (runId: string, toolCallId: string): string => `apr_${runId}_${toolCallId}`;
export const approvalIdPattern = /^apr_([0-9a-f-]{36})_([A-Za-z0-9_.:-]{1,128})$/;
export const ApprovalId = z.string().regex(approvalIdPattern);

/** Lower-case hexadecimal SHA-256 with its algorithm. */
export const Digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
export type Digest = z.infer<typeof Digest>;

export const OrgId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/);
export type OrgId = z.infer<typeof OrgId>;
export const defaultOrg = 'default' as OrgId;

/** Names that people give: agents, policies, tokens. */
export const Name = z.string().regex(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$/, 'must be 1-64 of A-Z a-z 0-9 . _ - and not start with a dot');

/** RFC 3339, UTC, milliseconds. */
export const Timestamp = z.iso.datetime({ precision: 3 });

/** Integer millionths of a US dollar. */
export const MicroUsd = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);
export const Count = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);
