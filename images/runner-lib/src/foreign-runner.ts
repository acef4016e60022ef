import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ContractClient } from './contract-client';
import { cutText } from './event-reporter';
import { exitCodes, RunnerExit } from './exit-codes';
import { startForwarder } from './forwarder';
import { pipeLoopback } from './pipe';
import { probeSandbox } from './probe-sandbox';
import { type RunnerTokens, readRunnerInput, takeRunnerSecrets } from './runner-input';

/**
 * Entry point of an image whose runner is not built on this library: `/opt/node /opt/runner/main.js PROGRAM ARGS…`. Proves the
 * sandbox, then starts the program with what the contract promises any runner: control and model base URLs on loopback, and the
 * same token line on descriptor 3. The program does the rest of the contract itself; its exit code becomes ours.
 */
export async function runForeign([program, ...args]: readonly string[]): Promise<never> {
  const { task, system_prompt, ...tokens } = takeRunnerSecrets();
  const input = readRunnerInput({ task, system_prompt });
  if (program === undefined) throw new RunnerExit(exitCodes.missingEnvironment, 'name the program to start: main.js PROGRAM ARGS…');
  await refuseUnsafeSandbox(tokens, input);

  const control = await pipeLoopback(input.control);
  const llm = await pipeLoopback(input.llm);
  const forwarder = await startForwarder({
    llm: input.llm,
    token: tokens.llm,
    listen: { port: 0 },
    onRefusal: (refusal) => log(`the model was refused: ${refusal}`),
  });
  const modelUrl = `http://127.0.0.1:${forwarder.port}/internal/llm`;

  const child = spawn(program, args, {
    cwd: '/',
    env: {
      ...process.env,
      FLUIDBOX_CONTROL_URL: `http://127.0.0.1:${control.port}`,
      FLUIDBOX_LLM_URL: `http://127.0.0.1:${llm.port}`,
      FLUIDBOX_TASK: input.task,
      ...(input.systemPrompt === null ? {} : { FLUIDBOX_SYSTEM_PROMPT: input.systemPrompt }),
      ANTHROPIC_BASE_URL: modelUrl,
      ANTHROPIC_API_KEY: 'placeholder',
      OPENAI_BASE_URL: `${modelUrl}/v1`,
      OPENAI_API_KEY: 'placeholder',
    },
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  });
  const tokenLine = child.stdio[3];
  if (tokenLine === null || tokenLine === undefined || !('end' in tokenLine))
    throw new RunnerExit(exitCodes.tokenHandOffFailed, 'no pipe for the token line');
  tokenLine.on('error', (error) => log(`the program did not read its tokens: ${error.message}`));
  tokenLine.end(`${JSON.stringify({ ...tokens, task, system_prompt })}\n`);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => child.kill(signal));
  const [exitCode] = (await once(child, 'exit')) as [number | null];
  process.exit(exitCode ?? exitCodes.crashed);
}

const log = (message: string): void => {
  process.stderr.write(`${message}\n`);
};

async function refuseUnsafeSandbox(tokens: RunnerTokens, { control, sessionId }: ReturnType<typeof readRunnerInput>): Promise<void> {
  const client = new ContractClient({
    control,
    sessionId,
    tokens,
    log,
    onWrongAudience: async (path) => {
      log(`${path}: wrong_audience`);
      process.exit(exitCodes.wrongAudience);
    },
  });
  const refusals = (await probeSandbox(client, tokens)).filter(({ refusal }) => refusal !== null);
  if (refusals.length === 0) return;
  const message = cutText(
    `the sandbox is not safe to use: ${refusals.map(({ check, refusal }) => `${check}: ${refusal}`).join('; ')}`,
    4_000,
  );
  await client.report({ type: 'run.error', data: { code: 'sandbox_probe_failed', message } });
  await client.result({ outcome: 'failed', summary: message });
  throw new RunnerExit(exitCodes.done, message);
}
