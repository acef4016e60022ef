import type { CanUseTool, HookCallback, Options, SpawnedProcess } from '@anthropic-ai/claude-agent-sdk';
import { harnesses } from '@fluidbox/contracts';
import { innerEnvironment, type RunnerInput, shellSandboxBinds, spawnInner } from '@fluidbox/runner-lib';

const harness = harnesses['claude-agent-sdk'];

/** In the sandbox of the agent program. */
const program = '/opt/claude';
const modelSocket = '/run/llm.sock';
export const agentHome = '/home/agent';

export interface ClaudeOptionsInput {
  readonly input: RunnerInput;
  /** The forwarder's socket as the runner sees it. */
  readonly forwarderSocket: string;
  readonly canUseTool: CanUseTool;
  readonly onToolRan: (tool: string, toolUseId: string, ok: boolean, output: unknown) => void;
  readonly abortController: AbortController;
  readonly log: (message: string) => void;
}

/** Every value here passed the attack and interception probes; a change needs them run again. */
export function claudeOptions(options: ClaudeOptionsInput): Options {
  const { input, abortController, canUseTool } = options;
  return {
    cwd: input.workspace,
    model: input.model,
    systemPrompt: { type: 'preset', preset: 'claude_code', ...(input.systemPrompt === null ? {} : { append: input.systemPrompt }) },
    permissionMode: 'default',
    abortController,
    canUseTool,
    tools: [...harness.tools],
    ...(input.maxTurns === null ? {} : { maxTurns: input.maxTurns }),
    env: agentEnvironment(input.model),
    pathToClaudeCodeExecutable: program,
    // Nothing from the repository or from HOME: a repository's SessionStart hook and MCP servers would run before any tool call.
    settingSources: [],
    strictMcpConfig: true,
    skills: [],
    // The task text is data: no /command, no @file.
    verbatimPrompts: true,
    // The second net: asks for every call even where a hook returned nothing. Other sessions may not inject text.
    settings: { permissions: { ask: ['*'] }, crossSessionInbound: 'refuse' },
    hooks: {
      // The first net. The hook does no I/O: a decision is waited for in canUseTool, which has no deadline.
      PreToolUse: [{ onFailure: 'block', hooks: [askForEverything] }],
      // Commands inside skill texts are not tool calls, so nothing would ask for them.
      PreSkillShellCommand: [{ onFailure: 'block', hooks: [denySkillCommand] }],
      PostToolUse: [{ hooks: [reportRun(options, true)] }],
      PostToolUseFailure: [{ hooks: [reportRun(options, false)] }],
    },
    spawnClaudeCodeProcess: ({ args, env, signal }) => startProgram(options, args, env, signal),
  };
}

const askForEverything: HookCallback = async () => ({ hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'ask' } });

const denySkillCommand: HookCallback = async () => ({
  hookSpecificOutput: { hookEventName: 'PreSkillShellCommand', permissionDecision: 'deny' },
});

function reportRun({ onToolRan }: ClaudeOptionsInput, ok: boolean): HookCallback {
  return async (hook) => {
    if (hook.hook_event_name === 'PostToolUse') onToolRan(hook.tool_name, hook.tool_use_id, ok, hook.tool_response);
    if (hook.hook_event_name === 'PostToolUseFailure') onToolRan(hook.tool_name, hook.tool_use_id, ok, hook.error);
    return {};
  };
}

/** Every model name the program might pick by itself is the run's own: the facade refuses any other. */
function agentEnvironment(model: string): Record<string, string> {
  return {
    ...innerEnvironment,
    HOME: agentHome,
    CLAUDE_CONFIG_DIR: `${agentHome}/.claude`,
    ANTHROPIC_API_KEY: 'placeholder',
    ANTHROPIC_BASE_URL: 'http://gateway.local',
    ANTHROPIC_UNIX_SOCKET: modelSocket,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    ANTHROPIC_DEFAULT_SONNET_MODEL: model,
    ANTHROPIC_DEFAULT_OPUS_MODEL: model,
    ANTHROPIC_DEFAULT_FABLE_MODEL: model,
    CLAUDE_CODE_SUBAGENT_MODEL: model,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    CLAUDE_CODE_SHELL_PREFIX: '/opt/sh-wrap',
    ...harness.environment,
  };
}

function startProgram(
  { input, forwarderSocket, log }: ClaudeOptionsInput,
  args: string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): SpawnedProcess {
  const kept = Object.entries(env).flatMap(([name, value]): [string, string][] =>
    value === undefined || name.startsWith('npm_') || name === 'NODE_OPTIONS' || name.startsWith('FLUIDBOX_') ? [] : [[name, value]],
  );
  const child = spawnInner(program, args, {
    env: Object.fromEntries(kept),
    network: 'own',
    readOnlyWorkspace: input.trustTier === 'read_only',
    binds: [{ src: program, dest: program }, ...shellSandboxBinds(), { src: forwarderSocket, dest: modelSocket, writable: true }],
    signal,
  });
  const { stdin, stdout, stderr } = child;
  if (stdin === null || stdout === null || stderr === null) throw new Error('the agent program was started without pipes');
  stderr.on('data', (chunk: Buffer) => log(`[claude] ${chunk.toString('utf8').trimEnd()}`));
  return Object.assign(child, { stdin, stdout });
}
