import { setTimeout as pause } from 'node:timers/promises';
import type { ResultRequest } from '@fluidbox/contracts';
import { ContractCallFailed, ContractClient } from './contract-client';
import { cutText, EventReporter } from './event-reporter';
import { type ExitCode, exitCodes, RunnerExit } from './exit-codes';
import { faultSentence } from './fault-sentence';
import { startKeepAlive } from './keep-alive';
import { type ProbeFinding, probeSandbox } from './probe-sandbox';
import { Quiesce } from './quiesce';
import { type RunnerInput, type RunnerTokens, readRunnerInput, takeRunnerSecrets } from './runner-input';

/** What a harness gets: no token, except the one the forwarder adds on its behalf. */
export interface AgentContext {
  readonly input: RunnerInput;
  readonly client: ContractClient;
  readonly events: EventReporter;
  readonly quiesce: Quiesce;
  /** For the forwarder only. */
  readonly llmToken: string;
  /** The answer `wrong_audience` seen anywhere outside the client, for example by the forwarder. */
  readonly abortWrongAudience: (path: string) => Promise<void>;
  readonly log: (message: string) => void;
}

export type Agent = (context: AgentContext) => Promise<ResultRequest>;

const lastWordsMs = 5_000;
const drainMs = 10_000;
const quiesceGraceMs = 5_000;
const summaryCharsMax = 4_000;

const log = (message: string): void => {
  process.stderr.write(`${message}\n`);
};

/** The whole life of a runner process. Never returns: it ends the process with one of the agreed exit codes. */
export async function runAgent(agent: Agent): Promise<never> {
  try {
    // First statement of all: nothing may be spawned while the descriptor is open.
    const { tool, control, llm, ...rest } = takeRunnerSecrets();
    process.exit(await live(agent, { tool, control, llm }, readRunnerInput(rest)));
  } catch (error) {
    log(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exit(error instanceof RunnerExit ? error.exitCode : exitCodes.crashed);
  }
}

async function live(agent: Agent, tokens: RunnerTokens, input: RunnerInput): Promise<ExitCode> {
  const client: ContractClient = new ContractClient({
    control: input.control,
    sessionId: input.sessionId,
    tokens,
    workspace: input.workspace,
    onWrongAudience: abortWrongAudience,
    log,
  });
  const quiesce = new Quiesce();
  const events = new EventReporter(client, log);

  async function abortWrongAudience(path: string): Promise<void> {
    await lastWords(client, 'wrong_audience', `${path} refused the token of this runner: wrong_audience. The runner ends here.`);
    process.exit(exitCodes.wrongAudience);
  }

  const stopKeepAlive = startKeepAlive({ client, quiesce, log });
  try {
    const refusals = (await probeSandbox(client, tokens)).filter((finding) => finding.refusal !== null);
    if (refusals.length > 0) return await reportResult(client, events, refusedSandbox(events, refusals));

    const context: AgentContext = { input, client, events, quiesce, llmToken: tokens.llm, abortWrongAudience, log };
    const result = await Promise.race([superviseAgent(agent, context), quiesced(quiesce)]);
    if (result === 'quiesced') return exitCodes.done;
    return await reportResult(client, events, result);
  } finally {
    stopKeepAlive();
  }
}

async function superviseAgent(agent: Agent, context: AgentContext): Promise<ResultRequest | 'quiesced'> {
  try {
    const result = await agent(context);
    return context.quiesce.reason === undefined ? result : 'quiesced';
  } catch (error) {
    if (context.quiesce.reason !== undefined) return 'quiesced';
    if (error instanceof RunnerExit) {
      await lastWords(
        context.client,
        error.exitCode === exitCodes.undecidedToolCall ? 'undecided_tool_call' : 'runner_error',
        error.message,
      );
      throw error;
    }
    const message = faultSentence(error);
    context.log(error instanceof Error ? (error.stack ?? message) : message);
    context.events.report({ type: 'run.error', data: { code: 'runner_error', message } }, 'runner');
    return { outcome: 'failed', summary: message };
  }
}

/** A harness that was told to stop gets a moment to end its children; the process ends either way, without a result. */
async function quiesced(quiesce: Quiesce): Promise<'quiesced'> {
  await new Promise<void>((resolve) => quiesce.onQuiesce(() => resolve()));
  log(`winding down: ${quiesce.reason}`);
  await pause(quiesceGraceMs);
  return 'quiesced';
}

function refusedSandbox(events: EventReporter, refusals: readonly ProbeFinding[]): ResultRequest {
  const message = `the sandbox is not safe to use: ${refusals.map(({ check, refusal }) => `${check}: ${refusal}`).join('; ')}`;
  log(message);
  events.report({ type: 'run.error', data: { code: 'sandbox_probe_failed', message } }, 'runner');
  return { outcome: 'failed', summary: message };
}

async function reportResult(client: ContractClient, events: EventReporter, { outcome, summary }: ResultRequest): Promise<ExitCode> {
  await events.drain(drainMs);
  try {
    await client.result({ outcome, ...(summary === undefined ? {} : { summary: cutText(summary, summaryCharsMax) }) });
    return exitCodes.done;
  } catch (error) {
    if (!(error instanceof ContractCallFailed)) throw error;
    log(error.message);
    return exitCodes.crashed;
  }
}

async function lastWords(client: ContractClient, code: string, message: string): Promise<void> {
  log(message);
  try {
    await client.reportOnce({ type: 'run.error', data: { code, message: cutText(message, summaryCharsMax) } }, lastWordsMs);
  } catch (error) {
    log(`the diagnostic was not stored: ${String(error)}`);
  }
}
