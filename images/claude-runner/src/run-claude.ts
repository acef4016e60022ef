import { type CanUseTool, query, type SDKUserMessage } from '@anthropic-ai/claude-agent-sdk';
import type { ResultRequest } from '@fluidbox/contracts';
import { type AgentContext, exitCodes, type Forwarder, RunnerExit, startForwarder } from '@fluidbox/runner-lib';
import { agentHome, claudeOptions } from './claude-options';
import { EndOfConversation } from './end-of-conversation';
import { type Finish, readMessage } from './messages';
import { outcomeOf } from './outcome';
import { summaryOf } from './tool-summary';
import { canonicalTool, toCanonical } from './vocabulary';
import { type Violation, Witness } from './witness';

const forwarderSocket = '/tmp/gw/llm.sock';

/** Runs the task with the real SDK. The SDK lives in the runner, its program one sandbox below, every tool call is asked for. */
export async function runClaude(context: AgentContext): Promise<ResultRequest> {
  const { input, events, quiesce, log } = context;
  const abortController = new AbortController();
  quiesce.onQuiesce(() => abortController.abort());
  const witness = new Witness();
  const end = new EndOfConversation();
  const state: { violation?: Violation; finish?: Finish; budgetExhausted: boolean } = { budgetExhausted: false };

  const notice = (violation: Violation | undefined): void => {
    if (violation === undefined || quiesce.reason !== undefined || state.violation !== undefined) return;
    state.violation = violation;
    abortController.abort();
  };

  const forwarder: Forwarder = await startForwarder({
    llm: input.llm,
    token: context.llmToken,
    listen: { socketPath: forwarderSocket },
    onRefusal: (refusal) => {
      if (refusal === 'budget_exhausted') state.budgetExhausted = true;
      else void context.abortWrongAudience('/internal/llm');
    },
  });

  try {
    const messages = query({
      prompt: conversation(input.task, end),
      options: claudeOptions({
        input,
        forwarderSocket,
        abortController,
        log,
        canUseTool: askTheGate(context, witness),
        onToolRan: (tool, toolUseId, ok, output) => {
          notice(witness.ran(toolUseId));
          events.report({
            type: 'tool.completed',
            data: { tool_call_id: toolUseId, tool: canonicalTool(tool), ok, summary: summaryOf(output) },
          });
        },
      }),
    });
    for await (const message of messages) {
      const read = readMessage(message);
      if (read === undefined) continue;
      end.observe(read);
      if (read.kind === 'said' && read.text.trim() !== '')
        events.report({ type: 'agent.message', data: { role: 'assistant', text: read.text } });
      if (read.kind === 'results')
        for (const { toolUseId, isError, text } of read.results) notice(witness.result(toolUseId, isError, text));
      if (read.kind === 'finished') state.finish = read.finish;
    }
  } catch (error) {
    // The program exits with an error after an unsuccessful result; the result says more.
    if (state.violation === undefined && state.finish === undefined) throw error;
    log(`the agent program ended: ${String(error)}`);
  } finally {
    end.now();
    forwarder.close();
  }
  if (state.violation !== undefined) throw interceptionFailed(state.violation);
  return outcomeOf({ finish: state.finish, budgetExhausted: state.budgetExhausted, maxTurns: input.maxTurns });
}

/** Stays open after the task: closing it would make the program refuse what a sub-agent in the background still asks. */
async function* conversation(task: string, end: EndOfConversation): AsyncGenerator<SDKUserMessage> {
  yield { type: 'user', message: { role: 'user', content: task }, parent_tool_use_id: null };
  await end.reached;
}

/** The one place where a call is decided. Whatever goes wrong here is a refusal. */
function askTheGate({ client, input, quiesce, log }: AgentContext, witness: Witness): CanUseTool {
  return async (tool, toolInput, { toolUseID, signal }) => {
    const call = toCanonical(tool, toolInput, input.workspace, agentHome);
    try {
      const answer = await client.permission({ tool_call_id: toolUseID, ...call }, AbortSignal.any([signal, quiesce.signal]));
      witness.decided(toolUseID);
      if (answer.decision === 'deny') return { behavior: 'deny', message: answer.message };
      return { behavior: 'allow', updatedInput: answer.updated_input ?? call.input };
    } catch (error) {
      log(`permission ${toolUseID}: ${String(error)}`);
      witness.decided(toolUseID);
      return { behavior: 'deny', message: 'the gate could not be asked' };
    }
  };
}

function interceptionFailed({ toolUseId, seenAs }: Violation): RunnerExit {
  const what = seenAs === 'ran' ? 'ran' : 'came back with a result';
  return new RunnerExit(exitCodes.undecidedToolCall, `tool call ${toolUseId} ${what} without a decision of the gate: the run is stopped`);
}
