import { randomUUID } from 'node:crypto';
import type { ResultRequest } from '@fluidbox/contracts';
import { type AgentContext, faultSentence, runShellCommand } from '@fluidbox/runner-lib';
import { parseScript, Step, type StepOutcome, unmetExpectation } from './script';

/** A harness without a model: does what its task says, step by step, and only what the gate allows. */
export async function runScript(context: AgentContext): Promise<ResultRequest> {
  const script = parseScript(context.input.task);
  for (const [index, step] of script.steps.entries()) {
    if (step.say !== undefined) context.events.report({ type: 'agent.message', data: { role: 'assistant', text: step.say } });
    const outcome = await takeStep(context, step);
    const unmet = unmetExpectation(step, outcome);
    if (unmet !== undefined) return { outcome: 'failed', summary: `step ${index + 1} (${step.tool}): ${unmet}` };
  }
  return { outcome: script.outcome, summary: script.summary ?? `${script.steps.length} steps done` };
}

async function takeStep(context: AgentContext, step: Step): Promise<StepOutcome> {
  const call = { tool_call_id: step.id ?? `scr_${randomUUID()}`, tool: step.tool };
  const answer = await context.client.permission({ ...call, input: step.input }, context.quiesce.signal);
  if (answer.decision === 'deny') return { kind: 'denied', message: answer.message };
  const { ok, output } = await performAllowed(context, step, answer.updated_input);
  context.events.report({ type: 'tool.completed', data: { ...call, ok, summary: output } });
  return { kind: 'done', ok, output };
}

interface Performed {
  readonly ok: boolean;
  readonly output: string;
}

/** A person may have written an input that this runner cannot perform; that fails the step, as it would with any tool. */
async function performAllowed(context: AgentContext, step: Step, updatedInput?: Record<string, unknown>): Promise<Performed> {
  if (updatedInput === undefined) return perform(context, step);
  const edited = Step.safeParse({ ...step, input: updatedInput });
  if (!edited.success) return { ok: false, output: `the edited input cannot be performed: ${faultSentence(edited.error)}` };
  return perform(context, edited.data);
}

/** File tools run as commands too: the runner itself must never open a path below /workspace, a planted link would resolve in its own sandbox. */
async function perform(context: AgentContext, step: Step): Promise<Performed> {
  switch (step.tool) {
    case 'Bash':
      return shell(context, step.input.command, { timeoutMs: step.input.timeout });
    case 'Read':
      return shell(context, `cat -- ${quoted(step.input.file_path)}`);
    case 'Write':
      return shell(context, `cat > ${quoted(step.input.file_path)}`, { stdin: step.input.content });
    case 'Edit':
      return edit(context, step.input);
  }
}

async function edit(
  context: AgentContext,
  { file_path, old_string, new_string }: { file_path: string; old_string: string; new_string: string },
): Promise<Performed> {
  const before = await shell(context, `cat -- ${quoted(file_path)}`);
  if (!before.ok) return before;
  const parts = before.output.split(old_string);
  if (parts.length !== 2) return { ok: false, output: `old_string occurs ${parts.length - 1} times in ${file_path}, must be once` };
  return shell(context, `cat > ${quoted(file_path)}`, { stdin: parts.join(new_string) });
}

async function shell(
  context: AgentContext,
  command: string,
  options: { stdin?: string; timeoutMs?: number | undefined } = {},
): Promise<Performed> {
  const { exitCode, stdout, stderr } = await runShellCommand(command, {
    readOnlyWorkspace: context.input.trustTier === 'read_only',
    signal: context.quiesce.signal,
    ...(options.stdin === undefined ? {} : { stdin: options.stdin }),
    ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
  });
  return { ok: exitCode === 0, output: stdout + stderr };
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
