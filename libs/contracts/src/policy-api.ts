import { z } from 'zod';
import { Count, Digest, Name, Timestamp } from './ids';
import { ImportPolicyBody, PolicyView } from './public-api';
import { humanText } from './text';
import { Verdict } from './timeline';

/** Versions of policies and how one is published. Requests are strict: an unknown key is a 422 that names it. */
const version = z.number().int().min(1);
const summary = humanText(500).refine((text) => text.trim() !== '', 'must not be blank');
const source = ImportPolicyBody.shape.source;

/** What a name's tokens were made by, oldest first and without the bootstrap token; null where nobody recorded it. */
export const tokenMakersMax = 32;
export const TokenMakers = z.array(Name).max(tokenMakersMax).nullable();
export type TokenMakers = z.infer<typeof TokenMakers>;

export const CheckPolicyBody = z.strictObject({ source });
export type CheckPolicyBody = z.infer<typeof CheckPolicyBody>;
const Place = z.strictObject({ path: z.string(), line: z.number().int(), column: z.number().int(), message: z.string() });
export const PolicyCheck = z.strictObject({
  /** It could be published: it parses and passes its own tests. */
  ok: z.boolean(),
  problems: z.array(Place),
  findings: z.array(Place.extend({ code: z.string(), severity: z.enum(['error', 'warning', 'note']), fix: z.string() })),
  failed_tests: z.array(
    z.strictObject({ index: z.number().int(), line: z.number().int(), expected: Verdict, got: Verdict, reason: z.string() }),
  ),
});
export type PolicyCheck = z.infer<typeof PolicyCheck>;

/** Appends a version with the bytes of an old one. */
export const RevertPolicyBody = z.strictObject({ version, summary: summary.optional(), base_version: version.optional() });
export type RevertPolicyBody = z.infer<typeof RevertPolicyBody>;
/** A new policy under another name, with the text of this one. */
export const ClonePolicyBody = z.strictObject({ name: Name, from_version: version.optional(), summary: summary.optional() });
export type ClonePolicyBody = z.infer<typeof ClonePolicyBody>;

/** Either side of a backtest: a version of this policy, or a document. */
const BacktestSide = z.union([z.strictObject({ version }), z.strictObject({ source })], 'must be {version} or {source}');
export const backtestCallsMax = 10_000;
export const BacktestBody = z.strictObject({
  to: BacktestSide,
  /** The newest version when left out. */
  from: BacktestSide.optional(),
  calls: z.number().int().min(1).max(backtestCallsMax).default(backtestCallsMax),
  /** Only runs whose newest call is not older. */
  since: Timestamp.optional(),
  /** All runs of the organisation, or those that ran under this policy. */
  runs: z.enum(['all', 'of_policy']).default('all'),
});
export type BacktestBody = z.infer<typeof BacktestBody>;

const Said = z.strictObject({ verdict: Verdict, rule: z.number().int().nullable(), line: z.number().int().nullable(), reason: z.string() });
const Change = z.strictObject({
  count: Count,
  examples: z.array(
    z.strictObject({
      run: z.string().nullable(),
      call_id: z.string().nullable(),
      tool: z.string(),
      call: z.string(),
      before: Said,
      after: Said,
    }),
  ),
});
/** What two versions say to the calls that were recorded. */
export const BacktestView = z.strictObject({
  policy: Name,
  calls: Count,
  runs: Count,
  unchanged: Count,
  changes: z.record(z.string(), Change),
  undetermined: Change,
  /** Calls whose content was erased: nobody can say. They are not among `calls`. */
  erased: Count,
  /** Calls that this version cannot read, of another engine or damaged. They are not among `calls`. */
  unreadable: Count,
  other_engine: Count,
  /** All that was asked for was read; false when the time was up before. */
  complete: z.boolean(),
  loosens: z.boolean(),
  duration_ms: Count,
});
export type BacktestView = z.infer<typeof BacktestView>;

export const proposalStatuses = ['open', 'stale', 'published', 'rejected', 'withdrawn'] as const;
/** A version that waits for a second person. `stale`: another version came in between, so it can only be proposed again. */
export const PolicyProposalView = z.strictObject({
  id: z.uuid(),
  policy: Name,
  status: z.enum(proposalStatuses),
  base_version: version,
  digest: Digest,
  source: z.string(),
  summary: z.string(),
  by: z.string(),
  created_at: Timestamp,
  /** Why it needs a second person, for people. */
  reasons: z.array(z.string()),
  /** What the recorded calls said when it was proposed; null where the policy asks always. */
  backtest: z.strictObject({ calls: Count, loosened: Count, undetermined: Count, erased: Count, complete: z.boolean() }).nullable(),
  closed_by: z.string().nullable(),
});
export type PolicyProposalView = z.infer<typeof PolicyProposalView>;

/** What a publication came to: the version that governs new runs now, or a proposal. */
export const PublishedPolicy = z.union([PolicyView, z.strictObject({ proposal: PolicyProposalView })]);
export type PublishedPolicy = z.infer<typeof PublishedPolicy>;

export const DecideProposalBody = z.strictObject({ decision: z.enum(['approve', 'reject']) });
export type DecideProposalBody = z.infer<typeof DecideProposalBody>;
