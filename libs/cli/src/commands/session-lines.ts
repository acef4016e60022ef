import type { SessionView } from '@fluidbox/contracts';
import { dollarsOf } from '../money';
import { wrapped } from '../paint';

/** Said wherever a person looks at such a run: nothing but its tier and budgets holds it. */
export const observesOnly = (policy: string): string =>
  `OBSERVED ONLY: policy ${policy} lets every call pass and records what it would have decided; trust tier, budgets and sandbox still bind`;

/** A run for a person: what came of it and why first. Everything is in `--json`. */
export function sessionLines(session: SessionView, mode: 'enforce' | 'observe' = 'enforce'): string[] {
  const { usage, budgets } = session;
  const rows: (readonly [string, string | null])[] = [
    ['run', session.id],
    ['status', session.outcome === null || session.outcome === session.status ? session.status : `${session.status} (${session.outcome})`],
    ['reason', session.reason],
    ['summary', session.summary],
    ['coverage', session.coverage],
    ['waiting', session.pending_approvals === 0 ? null : `${session.pending_approvals} for a person: npm run -s fluidbox -- approvals`],
    ['task', session.task],
    [
      'agent',
      `${session.agent} revision ${session.agent_revision} · ${session.harness} · ${session.model} · ${session.trust_tier}, ${session.autonomy}`,
    ],
    ['policy', `${session.policy} version ${session.policy_version}`],
    ['mode', mode === 'observe' ? observesOnly(session.policy) : null],
    [
      'cost',
      `${dollarsOf(usage.cost_micro_usd)}${budgets.max_cost_micro_usd === null ? '' : ` of ${dollarsOf(budgets.max_cost_micro_usd)}`}`,
    ],
    [
      'calls',
      `${session.tool_calls} of tools${budgets.max_tool_calls === null ? '' : ` (at most ${budgets.max_tool_calls})`} · ${usage.model_requests} of the model (${usage.input_tokens} tokens in, ${usage.output_tokens} out)`,
    ],
    ['created', `${session.created_at} by ${session.invoked_by}`],
    ['started', session.started_at],
    ['finished', session.finished_at],
    [
      'erased',
      session.content_erased_at == null
        ? null
        : `${session.content_erased_at}: task, messages, inputs and files are gone, the record stays`,
    ],
  ];
  return rows.flatMap(([name, said]) =>
    said === null || said === '' ? [] : [`${name.padEnd(10)}${wrapped(said, 110).join(`\n${' '.repeat(10)}`)}`],
  );
}
