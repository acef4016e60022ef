import type { ChildProcess } from 'node:child_process';
import { innerEnvironment, type RunnerInput, shellSandboxBinds, spawnInner } from '@fluidbox/runner-lib';

/** In the sandbox of the agent program. */
const program = '/opt/codex';
const searchTool = { src: '/opt/rg', dest: '/opt/bin/rg' };
const catalogue = { src: '/opt/runner/models.json', dest: '/opt/models.json' };
/** On the read-only root: nothing that the program writes can change what the next command means. */
const home = '/opt/home';
const stateDir = '/home/agent/.codex';

/** What may run something unasked, reaches for the network, or calls tools under names and ids that the model's stream never had. */
const featuresOff = [
  // With a terminal, one allowed `sh` would take every later command through write_stdin, which is never asked for.
  'unified_exec_tty',
  // A file of shell functions that any command can rewrite for the next one.
  'shell_snapshot',
  // Tools that are not asked for.
  ...[
    'view_image',
    'goals',
    'sleep_tool',
    'image_generation',
    'multi_agent',
    'multi_agent_v2',
    'browser_use',
    'computer_use',
    'in_app_browser',
  ],
  // One JavaScript call whose inner commands have ids of their own.
  'code_mode_host',
  // A message of ours would cut off an answer of the model, whose calls nobody would ever decide.
  'instant_interrupt',
  // Whoever else would decide instead of the gate.
  ...['hooks', 'guardian_approval'],
  ...['memories', 'skill_search', 'skill_mcp_dependency_install', 'tool_suggest', 'workspace_dependencies'],
  ...['plugins', 'apps', 'remote_plugin', 'plugin_sharing', 'api_key_model_discovery'],
];

/** Every value here passed the interception and attack tests; a change needs them run again. Values are TOML. */
function settings(modelPort: number, workspace: string): Record<string, string> {
  return {
    model_provider: '"facade"',
    'model_providers.facade.name': '"facade"',
    'model_providers.facade.base_url': JSON.stringify(`http://127.0.0.1:${modelPort}/v1`),
    'model_providers.facade.env_key': '"OPENAI_API_KEY"',
    'model_providers.facade.wire_api': '"responses"',
    'model_providers.facade.request_max_retries': '4',
    'model_providers.facade.stream_max_retries': '3',
    // A model may think for minutes before the first event.
    'model_providers.facade.stream_idle_timeout_ms': '900000',
    // Our own list of models, with code mode taken out of each.
    model_catalog_json: JSON.stringify(catalogue.dest),
    // No start-up file between what was decided and what runs.
    allow_login_shell: 'false',
    // Else the repository's .codex/config.toml, rules (which can allow commands unasked) and MCP servers are loaded.
    projects: `{${JSON.stringify(workspace)}={trust_level="untrusted"}}`,
    // AGENTS.md is text of the repository, not of the person who gave the task.
    project_doc_max_bytes: '0',
    'skills.include_instructions': 'false',
    'skills.bundled.enabled': 'false',
    'tools.experimental_request_user_input.enabled': 'false',
    // What is meant for the program alone.
    'shell_environment_policy.exclude': '["RUST_LOG", "OPENAI_*"]',
    web_search: '"disabled"',
    check_for_update_on_startup: 'false',
    'analytics.enabled': 'false',
    'feedback.enabled': 'false',
    'history.persistence': '"none"',
    ...Object.fromEntries(featuresOff.map((feature) => [`features.${feature}`, 'false'])),
  };
}

export interface StartOptions {
  readonly input: RunnerInput;
  /** Loopback port of the forwarder: the program speaks TCP only, so it shares the runner's loopback; its commands have a network of their own. */
  readonly modelPort: number;
}

/** `codex app-server` one sandbox below the runner. There is no file of settings: everything is an argument that nothing inside can rewrite. */
export function startProgram({ input, modelPort }: StartOptions): ChildProcess {
  const args = Object.entries(settings(modelPort, input.workspace)).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
  return spawnInner(program, [...args, 'app-server'], {
    env: {
      ...innerEnvironment,
      PATH: `/opt/bin:${innerEnvironment.PATH}`,
      HOME: home,
      CODEX_HOME: stateDir,
      OPENAI_API_KEY: 'placeholder',
      // A call that was refused is no error of the program.
      RUST_LOG: 'error,codex_core::tools::router=off',
    },
    network: 'shared',
    readOnlyWorkspace: input.trustTier === 'read_only',
    dirs: [home, stateDir],
    binds: [{ src: program, dest: program }, searchTool, catalogue, ...shellSandboxBinds({ overBash: true })],
  });
}

/** How a thread starts. Everything is asked for; the program's own sandbox is off because it runs in ours. */
export function threadStart({ input }: Pick<StartOptions, 'input'>): Record<string, unknown> {
  return {
    model: input.model,
    modelProvider: 'facade',
    cwd: input.workspace,
    approvalPolicy: 'untrusted',
    approvalsReviewer: 'user',
    sandbox: 'danger-full-access',
    ephemeral: true,
    // The model's calls and results as they are, for the witness and for the command behind a patch.
    experimentalRawEvents: true,
    ...(input.systemPrompt === null ? {} : { developerInstructions: input.systemPrompt }),
  };
}
