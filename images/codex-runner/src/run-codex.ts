import { setTimeout as pause } from 'node:timers/promises';
import type { ResultRequest } from '@fluidbox/contracts';
import { type AgentContext, exitCodes, type Forwarder, RunnerExit, startForwarder } from '@fluidbox/runner-lib';
import { type AppServer, appServer } from './app-server';
import { answerProgram, type GateBridge } from './ask-the-gate';
import { startProgram, threadStart } from './codex-settings';
import { outcomeOf } from './outcome';
import { ThreadStarted } from './protocol';
import { type Seen, Turn } from './turn';
import { type Violation, Witness } from './witness';

/** Time that an interrupted turn has to end by itself. */
const interruptMs = 3_000;
/** Time that a reason has to be taken; the call waits for it. */
const tellMs = 2_000;

/** Runs the task with the real program, one sandbox below: one thread, one turn, every command and every patch asked for. */
export async function runCodex(context: AgentContext): Promise<ResultRequest> {
  const { input, events, quiesce, log } = context;
  const witness = new Witness();
  const turn = new Turn(witness);
  const state: { violation?: Violation; budgetExhausted: boolean; turnLimit: number | null } = { budgetExhausted: false, turnLimit: null };

  const stop = (): void => void interrupt(server, turn);
  const forwarder: Forwarder = await startForwarder({
    llm: input.llm,
    token: context.llmToken,
    listen: { port: 0 },
    // The program gives up at a 429.
    waitsWhenBusy: true,
    onRefusal: (refusal) => {
      if (refusal !== 'budget_exhausted') return void context.abortWrongAudience('/internal/llm');
      state.budgetExhausted = true;
      stop();
    },
  });
  if (forwarder.port === null) throw new Error('the forwarder has no port');

  const notice = (violation: Violation): void => {
    if (quiesce.reason !== undefined || state.violation !== undefined) return;
    state.violation = violation;
    server.kill();
  };
  const react = (seen: Seen): void => {
    switch (seen.kind) {
      case 'event':
        events.report(seen.event);
        break;
      case 'violation':
        notice(seen.violation);
        break;
      case 'goes_on':
        if (input.maxTurns === null || seen.answers < input.maxTurns) break;
        state.turnLimit = input.maxTurns;
        stop();
    }
  };
  const bridge: GateBridge = {
    context,
    witness,
    changesOf: (callId) => turn.changesOf(callId),
    onDenied: (callId, message) => tellModel(server, turn, `Call ${callId} was not run: ${message}`, log),
  };

  const server: AppServer = appServer(startProgram({ input, modelPort: forwarder.port }), {
    onRequest: (method, params) => answerProgram(bridge, method, params),
    onNotification: (method, params) => {
      if (method === 'error') log(`[codex] ${JSON.stringify(params).slice(0, 500)}`);
      try {
        for (const seen of turn.observe(method, params)) react(seen);
      } catch (error) {
        notice({ callId: 'unknown', what: `${method} is not as expected (${String(error).slice(0, 300)}), so something may have run` });
      }
    },
    log,
  });
  void server.ended.then(() => turn.programEnded());
  quiesce.onQuiesce(stop);

  try {
    await startTurn(server, context, turn);
    const ended = await turn.ended;
    if (state.violation === undefined) return outcomeOf({ turn: ended, lastMessage: turn.lastMessage, ...state });
  } catch (error) {
    if (state.violation === undefined) throw error;
    log(`the agent program ended: ${String(error)}`);
  } finally {
    server.kill();
    forwarder.close();
  }
  const { callId, what } = state.violation;
  throw new RunnerExit(exitCodes.undecidedToolCall, `tool call ${callId}: ${what} without a decision of the gate: the run is stopped`);
}

async function startTurn(server: AppServer, { input }: AgentContext, turn: Turn): Promise<void> {
  await server.call('initialize', {
    clientInfo: { name: 'fluidbox', title: 'fluidbox', version: '1' },
    capabilities: { experimentalApi: true, requestAttestation: false },
  });
  server.notify('initialized');
  const started = ThreadStarted.parse(await server.call('thread/start', threadStart({ input })));
  // A version that no longer knows a setting may fall back to another one in silence.
  const { approvalPolicy, approvalsReviewer, cwd, model } = started;
  if (approvalPolicy !== 'untrusted' || approvalsReviewer !== 'user' || cwd !== input.workspace || model !== input.model)
    throw new Error(`the agent program did not start as told: ${JSON.stringify({ approvalPolicy, approvalsReviewer, cwd, model })}`);
  turn.threadId = started.thread.id;
  await server.call('turn/start', { threadId: turn.threadId, input: [textInput(input.task)] });
}

/** Asks for an end, so that a model request is not cut off, then ends the program either way. */
async function interrupt(server: AppServer, turn: Turn): Promise<void> {
  turn.stopped();
  const { threadId, id: turnId } = turn;
  if (turnId !== undefined) void server.call('turn/interrupt', { threadId, turnId }).catch(() => undefined);
  if (turnId !== undefined) await Promise.race([turn.ended, pause(interruptMs)]);
  server.kill();
}

/**
 * The program tells its model only that a call was rejected; the reason follows as a message of ours. It must be there before the call is answered: a
 * message that comes while the model already writes makes the program throw that answer away and ask again.
 */
async function tellModel(server: AppServer, turn: Turn, text: string, log: (message: string) => void): Promise<void> {
  const { threadId, id, isStopped } = turn;
  if (id === undefined || isStopped) return;
  try {
    await Promise.race([server.call('turn/steer', { threadId, expectedTurnId: id, input: [textInput(text)] }), pause(tellMs)]);
  } catch (error) {
    log(`the reason was not told: ${String(error)}`);
  }
}

const textInput = (text: string) => ({ type: 'text', text, text_elements: [] });
