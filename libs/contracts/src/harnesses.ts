/**
 * The harness registry: a plain table. A third harness is one row here and one image folder; what a run needs of its row is
 * frozen into its spec, so a later edit never changes a run that exists.
 */
export interface Harness {
  readonly id: string;
  /** Folder in `images/`. */
  readonly image: string;
  readonly dialect: 'anthropic_messages' | 'openai_responses' | 'none';
  readonly models: readonly string[];
  readonly defaultModel: string | null;
  /** Canonical names of the built-in tools it may offer. The facade drops every other one from a model request. */
  readonly tools: readonly string[];
  /** The harness's own spelling → canonical name, where they differ. */
  readonly toolNames: Readonly<Record<string, string>>;
  /** In whose words the model's calls stand: those of the gate, or Codex's, which the facade translates before it compares (`comparedFields`). */
  readonly callForm: 'canonical' | 'codex';
  /** Tools (the harness's own spelling) that are called with text; every other one takes arguments. */
  readonly textTools: readonly string[];
  /** Tools whose calls change nothing and may end undecided. */
  readonly noEffectTools: readonly string[];
  /**
   * How the result of a call looks that the harness refused before any hook: an error whose text starts like this. `wrongKind`: the whole text of the
   * answer to arguments where the tool takes text, or the other way round. Other calls end in these words, too, so it says nothing about them.
   */
  readonly refusal: { readonly requiresErrorFlag: boolean; readonly prefixes: readonly string[]; readonly wrongKind?: string };
  /**
   * Per canonical tool: the fields of the input that reach the gate exactly as the model wrote them. Their digests on both sides must be equal, or the
   * gate judged something else than the model asked for. A field that the harness fills in does not stand here; a path may, and is compared where the
   * model wrote it as no harness would change it. `changed_files` is no field: it stands for the files that a call changes, and how (libs/seal).
   */
  readonly comparedFields: Readonly<Record<string, readonly string[]>>;
  /** False: the program runs what its model wrote or nothing, so nobody can edit a call while approving it. */
  readonly runsEdits: boolean;
  /** More environment for the agent program. */
  readonly environment: Readonly<Record<string, string>>;
}

export const harnesses = {
  'claude-agent-sdk': {
    id: 'claude-agent-sdk',
    image: 'claude-runner',
    dialect: 'anthropic_messages',
    models: ['claude-haiku-4-5', 'claude-sonnet-4-5', 'claude-sonnet-5', 'claude-opus-4-8'],
    defaultModel: 'claude-haiku-4-5',
    tools: ['Bash', 'Read', 'Edit', 'Write', 'Glob', 'Grep', 'NotebookEdit', 'Agent', 'TodoWrite'],
    toolNames: { Task: 'Agent' },
    callForm: 'canonical',
    textTools: [],
    noEffectTools: [],
    refusal: { requiresErrorFlag: true, prefixes: ['<tool_use_error>'] },
    comparedFields: {
      Bash: ['command'],
      Read: ['file_path'],
      Write: ['file_path', 'content'],
      Edit: ['file_path', 'old_string', 'new_string'],
      NotebookEdit: ['notebook_path', 'new_source'],
      Grep: ['pattern'],
      Glob: ['pattern'],
    },
    runsEdits: true,
    environment: { CLAUDE_CODE_DISABLE_CRON: '1', CLAUDE_CODE_DISABLE_WORKFLOWS: '1', CLAUDE_CODE_DISABLE_BUNDLED_SKILLS: '1' },
  },
  codex: {
    id: 'codex',
    image: 'codex-runner',
    dialect: 'openai_responses',
    // gpt-5.5 calls its tools one by one by itself; the others are made to by our catalogue (images/codex-runner), so it is the default.
    models: ['gpt-5.5', 'gpt-6-sol', 'gpt-6-luna'],
    defaultModel: 'gpt-5.5',
    tools: ['Bash', 'Edit', 'BashOutput'],
    toolNames: { exec_command: 'Bash', apply_patch: 'Edit', write_stdin: 'BashOutput' },
    callForm: 'codex',
    textTools: ['apply_patch'],
    // Terminals are switched off, so the input of every command is closed and write_stdin can only read what a running one has said.
    noEffectTools: ['BashOutput'],
    // Texts of 0.171, each seen before anything ran; they carry no error flag. What a command or a patch said always comes after a line of the program
    // (`Chunk ID:`, `Wall time:`, `Exit code:`). `exec_command failed: ` is not here: it is also said of commands that were asked for.
    refusal: {
      requiresErrorFlag: false,
      prefixes: [
        'unsupported call: ',
        'unsupported custom tool call: ',
        'failed to parse function arguments: ',
        'apply_patch verification failed: ',
        'write_stdin failed: ',
        'TTY execution is disabled by config',
        'login shell is disabled by config',
        'unknown turn environment id `',
        'additional permissions are disabled; ',
        'patch rejected: empty patch',
        'apply_patch environment selection is unavailable for this turn',
      ],
      // A call that the program interrupts ends so as well.
      wrongKind: 'aborted',
    },
    // The command as it will run, with its directory as a `cd` line; of a patch its files, because the program spells out the rest from what is on disk.
    comparedFields: { Bash: ['command'], Edit: ['changed_files'] },
    runsEdits: false,
    environment: {},
  },
  scripted: {
    id: 'scripted',
    image: 'scripted-runner',
    dialect: 'none',
    models: ['none'],
    defaultModel: 'none',
    tools: ['Bash', 'Read', 'Edit', 'Write'],
    toolNames: {},
    callForm: 'canonical',
    textTools: [],
    noEffectTools: [],
    refusal: { requiresErrorFlag: true, prefixes: [] },
    comparedFields: {},
    runsEdits: true,
    environment: {},
  },
} as const satisfies Record<string, Harness>;

export type HarnessId = keyof typeof harnesses;
export const isHarnessId = (id: string): id is HarnessId => Object.hasOwn(harnesses, id);
export const harnessOf = (id: HarnessId): Harness => harnesses[id];
