import type { EventView } from '@fluidbox/contracts';
import { dollarsOf } from './money';
import { oneLine, type Paint, plain, wrapped } from './paint';

/** More of what an agent says is in `--json`. */
const messageCharsMax = 400;
/** Where the text of a line starts: the lines it goes on in start there too. */
const indent = ' '.repeat(39);

const raw = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value);
/** Of a field that is one word: whoever wrote it neither steers the terminal nor begins a line of its own. Names of tools come from the sandbox. */
const text = (value: unknown): string => plain(raw(value)).replaceAll(/[\t\n]+/g, ' ');
const usd = (microUsd: unknown): string => dollarsOf(typeof microUsd === 'number' ? microUsd : 0);

const flow = (said: string, width: number): string => wrapped(said, width).join(`\n${indent}`);

/** The line of a program's last words that says what went wrong: no stack frame, no version banner, no closing bracket. */
export function lastWords(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '');
  return (lines.findLast((line) => /^[^\s})^]/.test(line) && !/^Node\.js v\d/.test(line)) ?? lines.at(-1) ?? '').trim();
}

/** A sandbox that was told to stop, or ended well, has nothing to explain. */
function exitReason({ data, content }: EventView): string {
  const expected = data.cause === 'stopped' || (data.cause === 'exited' && data.exit_code === 0);
  return expected ? '' : lastWords(raw(content?.stderr_tail));
}

/** A person who changed the input approved something else than what was asked: both the fact and the reason belong to the line. */
function decisionSaid({ data, content }: EventView, width: number): string {
  const edited = data.edited_digest === undefined ? '' : ' edited';
  const input =
    content?.edited_input === undefined || content.edited_input === null ? '' : `: ${oneLine(text(content.edited_input), width)}`;
  const comment = text(content?.comment) === '' ? '' : ` · “${oneLine(text(content?.comment), width)}”`;
  return `${text(data.decision)}${edited} by ${text(data.decided_by)} (${text(data.scope)})${edited === '' ? '' : input}${comment}`;
}

/** Of an account that the run shares with others; nothing for a budget of its own. */
function accountOf(account: unknown): string {
  if (typeof account !== 'object' || account === null) return '';
  const { scope, period } = account as { scope?: unknown; period?: unknown };
  return ` of ${text(scope)} (${text(period)})`;
}

/** Its content is destroyed, or the reader may not open it: an empty text would look like something that was said. */
export const erasedMark = '(content erased)';
const erased = ({ content }: EventView): boolean => content === null;
/** What an approval for the rest of the run would cover. Events of version 1 say it in the open. */
const scopeKeyOf = ({ data, content }: EventView): string => text(content?.scope_key ?? data.scope_key ?? erasedMark);

/** What the event says, in a few words; the full event is in `--json`. */
function describe(event: EventView, paint: Paint, width: number): string | null {
  const { data, content } = event;
  switch (event.type) {
    case 'session.created':
      return `${text(data.agent)} · ${text(data.harness)} · policy ${text(data.policy)} v${text(data.policy_version)} · spec ${text(data.spec_digest).slice(7, 19)}`;
    case 'session.status_changed':
      return `${text(data.from)} → ${paint.bold(text(data.to))} ${paint.dim(`(${text(data.reason)})`)}`;
    case 'workspace.initialized':
      return `${text(data.kind)} · ${text(data.files)} files · base ${text(data.base_digest).slice(7, 19)}`;
    case 'sandbox.started': {
      const isolation = data.isolation as { limits?: string } | undefined;
      return `${text(data.provider)} · no network · limits ${text(isolation?.limits ?? '?')} · runner ${text(data.runner_digest).slice(7, 19)}`;
    }
    case 'sandbox.exited':
      return flow(
        [
          text(data.cause),
          ...(data.exit_code === null ? [] : [`exit ${text(data.exit_code)}`]),
          ...(exitReason(event) === '' ? [] : [exitReason(event)]),
        ].join(' · '),
        width,
      );
    case 'tool.requested':
      return `${paint.cyan(text(data.tool))} ${erased(event) ? paint.dim(erasedMark) : oneLine(text(content?.summary).replace(`${text(data.tool)}: `, ''), width)}`;
    case 'tool.decision': {
      if (data.source === 'observe')
        return `${paint.yellow(`WOULD ${text(data.original_verdict).toUpperCase()}`)} ${text(data.tool)} ${paint.dim('let pass, the policy only observes')} ${oneLine(text(content?.reason), width)}`.trimEnd();
      const verdict = data.verdict === 'allow' ? paint.green('ALLOW') : paint.red('DENY');
      return `${verdict} ${text(data.tool)} ${paint.dim(`by ${text(data.source)}`)} ${data.verdict === 'allow' ? '' : oneLine(text(content?.reason), width)}`.trimEnd();
    }
    case 'approval.requested':
      return `${paint.yellow('WAITS FOR A PERSON')} ${text(data.tool)} · key ${oneLine(scopeKeyOf(event), 60)} · until ${text(data.expires_at)}`;
    case 'approval.decided':
      return decisionSaid(event, width);
    case 'agent.message':
      return erased(event) ? paint.dim(erasedMark) : flow(`“${oneLine(text(content?.text), messageCharsMax)}”`, width);
    case 'tool.completed':
      return `${text(data.tool)} ${data.ok === true ? 'ok' : paint.red('failed')} ${paint.dim('(reported by the runner)')}`;
    case 'model.response':
      return `${text(data.model)} · in ${text(data.input_tokens)} out ${text(data.output_tokens)} · ${usd(data.cost_micro_usd)}`;
    case 'model.tool_call':
      return `the model calls ${text(data.tool)}`;
    case 'model.tool_call_closed':
      return `${text(data.tool)} ${text(data.class)}`;
    case 'coverage.gap':
      return paint.red(`${text(data.class)} call of ${text(data.tool)}: the gate did not decide it as the model asked for it`);
    case 'budget.exceeded':
    case 'budget.warned':
      return `${text(data.budget)}${accountOf(data.account)} ${text(data.spent)} of ${text(data.limit)}`;
    case 'artifact.collected':
      return `${text(data.name)} · ${text(data.bytes)} bytes · +${text(data.insertions)} −${text(data.deletions)} · ${text(data.sha256).slice(7, 19)}`;
    case 'artifact.missing':
      return flow([`${text(data.kind)}: ${text(data.reason)}`, ...(erased(event) ? [] : [text(content?.detail)])].join(' · '), width);
    case 'run.error':
      return paint.red(flow(`${text(data.code)} ${text(content?.message)}`, width));
    case 'run.quiesce_requested':
      return `${text(data.reason)} · until ${text(data.deadline_at)}`;
    case 'guard.warned':
    case 'guard.tripped':
      return `${text(data.guard)} ${text(data.count)} of ${text(data.limit)}`;
    case 'approval.voted':
      return `${text(data.decision)} by ${text(data.by)}, more people have to agree`;
    case 'run.result':
      return `${paint.bold(text(data.outcome))} · coverage ${text(data.coverage)} · ${usd(data.cost_micro_usd)}`;
    // Bookkeeping of the lease and of reservations: in the record and in --json, not interesting live.
    case 'lease.granted':
    case 'budget.reserved':
    case 'budget.settled':
    case 'budget.released':
      return null;
    default:
      return oneLine(JSON.stringify(data), width);
  }
}

/** One event as a line of the live timeline, longer texts on lines below it; null where a person need not see it. */
export function timelineLine(event: EventView, startedAt: number, paint: Paint, width = 110): string | null {
  const said = describe(event, paint, width);
  if (said === null) return null;
  const seconds = Math.max(0, (Date.parse(event.occurred_at) - startedAt) / 1000)
    .toFixed(1)
    .padStart(6);
  return `${paint.dim(`${String(event.seq).padStart(4)} ${seconds}s`)}  ${text(event.type).padEnd(24)} ${said}`;
}
