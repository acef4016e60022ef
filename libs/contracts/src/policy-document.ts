import { z } from 'zod';
import { type Budgets, BudgetsInput, defaultBudgets, microUsdOf } from './budgets';
import { Name } from './ids';
import { humanText } from './text';

/**
 * The policy document: what a person writes, strict at every level, with every default filled in by parsing. Parsing a parsed
 * document gives the same document, so the frozen form in a RunSpec is read by this schema too.
 * Facts about the text itself (positions, YAML traps, patterns that do not compile) are the parser's job in `libs/policy`.
 */
export const policyBounds = { rules: 512, matchers: 256, patterns: 256, stringBytes: 1024, sourceBytes: 256 * 1024, tests: 512 } as const;

/** Bytes of well-formed text in UTF-8, without an encoder: this package and the pure ones know no platform. */
export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
}

const boundedText = humanText(policyBounds.stringBytes).refine(
  (text) => utf8Bytes(text) <= policyBounds.stringBytes,
  `must be at most ${policyBounds.stringBytes} bytes`,
);
const nonEmpty = boundedText.refine((text) => text.trim() !== '', 'must not be blank');
const list = (item: z.ZodType<string>) => z.array(item).max(policyBounds.patterns).default([]);

/** `approve` is the old spelling of `ask`: a person has to approve. */
const Action = z
  .enum(['allow', 'ask', 'deny', 'approve'], 'must be allow, ask or deny')
  .transform((action) => (action === 'approve' ? 'ask' : action));
const Fallback = z.enum(['allow', 'deny'], 'must be allow or deny');

const reservedNames = new Set(['validate', 'preview', 'clone']);
const matcher = nonEmpty.refine((text) => !text.slice(0, -1).includes('*'), 'a * may only stand alone or at the end of a matcher');

const PathRule = z.strictObject({ allow: list(nonEmpty), deny: list(nonEmpty) });

const ShellRule = z
  .strictObject({
    allow: list(nonEmpty),
    /** The original's spelling of `allow`. */
    allow_prefixes: z.array(nonEmpty).max(policyBounds.patterns).optional(),
    ask: list(nonEmpty),
    deny: list(nonEmpty),
    deny_regex: list(nonEmpty),
    on_no_match: Action.default('ask'),
  })
  .transform(({ allow_prefixes, ...rule }) => ({ ...rule, allow: [...rule.allow, ...(allow_prefixes ?? [])] }));

const ArgumentCondition = z
  .strictObject({ glob: nonEmpty.optional(), equals: z.union([boundedText, z.number(), z.boolean(), z.null()]).optional() })
  .refine((condition) => (condition.glob === undefined) !== (condition.equals === undefined), 'must have exactly one of glob, equals');
const pointer = z
  .string()
  .max(256)
  .regex(/^(\/([^~/]|~[01])*)+$/, 'must be a JSON pointer such as /repo');

const History = z.strictObject({
  requires: z
    .strictObject({
      tool: nonEmpty,
      command: nonEmpty.optional(),
      ok: z.boolean().optional(),
      within_secs: z.number().int().min(1).optional(),
    })
    .optional(),
  rate: z.strictObject({ max: z.number().int().min(1), per_secs: z.number().int().min(1) }).optional(),
  count: z.strictObject({ max: z.number().int().min(1) }).optional(),
  forbid_after: z.strictObject({ tool: nonEmpty, command: nonEmpty.optional() }).optional(),
});

const ttlSecs = z
  .number()
  .int()
  .min(1)
  .max(30 * 86_400);
const Scope = z.enum(['once', 'session'], 'must be once or session');

export const PolicyRule = z.strictObject({
  match: z.array(matcher).min(1, 'must name at least one tool').max(policyBounds.matchers),
  action: Action,
  risk: boundedText.optional(),
  paths: PathRule.optional(),
  shell: ShellRule.optional(),
  when: z.strictObject({ args: z.record(pointer, ArgumentCondition) }).optional(),
  history: History.optional(),
  on_autonomous: Fallback.optional(),
  approval_ttl_secs: ttlSecs.optional(),
  approval_scope: Scope.optional(),
  /** Shown to the approver. */
  reason: boundedText.optional(),
  /** Shown to the model on a denial. */
  tell_agent: boundedText.optional(),
});
export type PolicyRule = z.output<typeof PolicyRule>;

export const PolicyTest = z.strictObject({
  tool: nonEmpty,
  input: z.record(z.string(), z.unknown()).default({}),
  cwd: boundedText.optional(),
  expect: Action,
});
export type PolicyTest = z.output<typeof PolicyTest>;

export const PolicyDocument = z.strictObject({
  name: Name.refine((name) => !reservedNames.has(name), 'is reserved'),
  mode: z.enum(['enforce', 'observe'], 'must be enforce or observe').default('enforce'),
  coverage: z.enum(['enforce', 'report', 'strict'], 'must be enforce, report or strict').default('enforce'),
  guards: z
    .strictObject({
      same_call: z.number().int().min(1).max(1e6).nullable().default(null),
      denials: z.number().int().min(1).max(1e6).nullable().default(null),
      idle_model_calls: z.number().int().min(1).max(1e6).nullable().default(null),
    })
    .prefault({}),
  publish: z
    .strictObject({ second_person: z.enum(['never', 'loosening', 'always'], 'must be never, loosening or always').default('never') })
    .prefault({}),
  defaults: z.strictObject({ tool_action: Action.default('ask') }).prefault({}),
  /** A cap that is left out takes the default; only a written `null` lifts one. */
  budgets: BudgetsInput.transform((budgets) => ({
    max_wall_clock_secs: filled(budgets.max_wall_clock_secs, defaultBudgets.max_wall_clock_secs),
    max_tokens: filled(budgets.max_tokens, defaultBudgets.max_tokens),
    max_cost_usd: filled(budgets.max_cost_usd, 2.5),
    max_tool_calls: filled(budgets.max_tool_calls, defaultBudgets.max_tool_calls),
  })).prefault({}),
  approvals: z
    .strictObject({
      default_ttl_secs: ttlSecs.default(600),
      scope: Scope.default('once'),
      timeout_action: z.literal('deny', 'must be deny: an approval that nobody gave is a no').default('deny'),
      approvers: z.number().int().min(1).max(16).default(1),
      exclude_requester: z.boolean().default(false),
    })
    .prefault({}),
  autonomy: z.strictObject({ permitted: z.boolean().default(true), on_approval_rule: Fallback.default('deny') }).prefault({}),
  network: z
    .strictObject({ max_mode: z.literal('offline', 'must be offline: no other network mode exists yet').default('offline') })
    .prefault({}),
  tools: z.array(PolicyRule).max(policyBounds.rules).default([]),
  tests: z.array(PolicyTest).max(policyBounds.tests).default([]),
});
/** Parsed, with every default filled in. */
export type PolicyDocument = z.output<typeof PolicyDocument>;
/** As written. */
export type PolicyDocumentInput = z.input<typeof PolicyDocument>;

function filled(written: number | null | undefined, fallback: number | null): number | null {
  return written === undefined ? fallback : written;
}

/** The caps of a document in the units that runs use. */
export const budgetsOfPolicy = (document: PolicyDocument): Budgets => ({
  max_wall_clock_secs: document.budgets.max_wall_clock_secs,
  max_tokens: document.budgets.max_tokens,
  max_cost_micro_usd: document.budgets.max_cost_usd === null ? null : microUsdOf(document.budgets.max_cost_usd),
  max_tool_calls: document.budgets.max_tool_calls,
});
