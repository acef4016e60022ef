// The model list that the program reads instead of its own: the models of the harness row, made to call their tools one by one. By itself the program
// lets most models emit one call of JavaScript ("code mode") whose inner commands have ids that no model stream ever had, so nothing could be covered.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** Prices rise for requests above this; the program compacts before it. */
const contextTokensMax = 272_000;

/** @param {string} program the pinned program, which prints its own list */
export function modelCatalogue(program, slugs) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-models-'));
  try {
    const env = { PATH: process.env.PATH, HOME: home, CODEX_HOME: home };
    const printed = execFileSync(program, ['debug', 'models', '--bundled'], {
      env,
      maxBuffer: 1 << 26,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const { models } = JSON.parse(printed.toString('utf8'));
    return { models: slugs.map((slug) => oneByOne(models.find((model) => model.slug === slug) ?? missing(slug))) };
  } finally {
    fs.rmSync(home, { recursive: true, force: true });
  }
}

function oneByOne({ tool_mode: _mode, ...model }) {
  return {
    ...model,
    use_responses_lite: false,
    multi_agent_version: null,
    experimental_supported_tools: [],
    supports_search_tool: false,
    context_window: Math.min(model.context_window, contextTokensMax),
    max_context_window: Math.min(model.max_context_window ?? contextTokensMax, contextTokensMax),
  };
}

function missing(slug) {
  throw new Error(`this version of codex has no model ${slug}: change the harness row or the pinned version`);
}
