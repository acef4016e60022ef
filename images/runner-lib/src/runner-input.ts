import fs from 'node:fs';
import { RunnerSecrets } from '@fluidbox/contracts';
import { exitCodes, RunnerExit } from './exit-codes';
import { type Endpoint, parseEndpoint } from './transport';

export interface RunnerTokens {
  readonly tool: string;
  readonly control: string;
  readonly llm: string;
}

/** Everything a runner is told, with tokens apart so that the rest can be logged. */
export interface RunnerInput {
  readonly sessionId: string;
  readonly task: string;
  readonly systemPrompt: string | null;
  readonly model: string;
  readonly autonomy: string;
  readonly trustTier: 'trusted' | 'read_only';
  readonly workspace: string;
  readonly maxTurns: number | null;
  readonly control: Endpoint;
  readonly llm: Endpoint;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the token line and closes the descriptor, so that nothing spawned later can inherit it. Must run before anything
 * is spawned. Throws RunnerExit 2 (variable missing) or 4 (the line did not arrive whole).
 */
export function takeRunnerSecrets(env: Environment = process.env): RunnerSecrets {
  const fd = Number(required(env, 'FLUIDBOX_TOKENS_FD'));
  if (!Number.isInteger(fd) || fd < 3)
    throw new RunnerExit(exitCodes.missingEnvironment, 'FLUIDBOX_TOKENS_FD must be a descriptor number of 3 or more');
  let line: string;
  try {
    line = fs.readFileSync(fd, 'utf8');
    fs.closeSync(fd);
  } catch (cause) {
    throw new RunnerExit(exitCodes.tokenHandOffFailed, `the tokens could not be read from descriptor ${fd}`, { cause });
  }
  return parseSecrets(line);
}

/** The message never repeats the line: it holds tokens. */
export function parseSecrets(line: string): RunnerSecrets {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new RunnerExit(exitCodes.tokenHandOffFailed, `the token line is not JSON (${line.length} characters)`);
  }
  const parsed = RunnerSecrets.safeParse(value);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map((issue) => issue.path.join('.') || 'line').join(', ');
  throw new RunnerExit(exitCodes.tokenHandOffFailed, `the token line is not as agreed, see: ${fields}`);
}

/** Task and prompt come with the tokens, because environment and arguments are readable inside the sandbox; a foreign launcher may set variables. */
export function readRunnerInput(secrets: Pick<RunnerSecrets, 'task' | 'system_prompt'>, env: Environment = process.env): RunnerInput {
  const trustTier = env.FLUIDBOX_TRUST_TIER ?? 'trusted';
  if (trustTier !== 'trusted' && trustTier !== 'read_only') {
    throw new RunnerExit(exitCodes.missingEnvironment, 'FLUIDBOX_TRUST_TIER must be trusted or read_only');
  }
  const controlUrl = required(env, 'FLUIDBOX_CONTROL_URL');
  return {
    sessionId: required(env, 'FLUIDBOX_SESSION_ID'),
    task: secrets.task ?? required(env, 'FLUIDBOX_TASK'),
    systemPrompt: (secrets.system_prompt ?? env.FLUIDBOX_SYSTEM_PROMPT) || null,
    model: env.FLUIDBOX_MODEL ?? '',
    autonomy: env.FLUIDBOX_AUTONOMY ?? 'supervised',
    trustTier,
    workspace: env.FLUIDBOX_WORKSPACE ?? '/workspace',
    maxTurns: positiveInteger(env, 'FLUIDBOX_MAX_TURNS'),
    control: endpoint('FLUIDBOX_CONTROL_URL', controlUrl),
    llm: endpoint('FLUIDBOX_LLM_URL', env.FLUIDBOX_LLM_URL ?? controlUrl),
  };
}

function required(env: Environment, name: string): string {
  const value = env[name];
  if (value === undefined || value === '') throw new RunnerExit(exitCodes.missingEnvironment, `${name} is not set`);
  return value;
}

function positiveInteger(env: Environment, name: string): number | null {
  const value = env[name];
  if (value === undefined || value === '') return null;
  if (!/^[1-9][0-9]{0,5}$/.test(value)) throw new RunnerExit(exitCodes.missingEnvironment, `${name} must be a whole number from 1`);
  return Number(value);
}

function endpoint(name: string, url: string): Endpoint {
  try {
    return parseEndpoint(url);
  } catch (cause) {
    throw new RunnerExit(exitCodes.missingEnvironment, `${name} must be unix:/path, http:// or https://`, { cause });
  }
}
