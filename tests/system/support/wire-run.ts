import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { ApiClient } from '@fluidbox/cli';
import type { EventView } from '@fluidbox/contracts';
import { type SystemStack, startSystemStack } from './stack';

export interface WireAnswer {
  readonly status?: number;
  readonly text?: string;
  readonly error?: string;
}
export interface WireRequest {
  readonly as?: string;
  readonly method?: string;
  readonly path: string;
  readonly body?: unknown;
  /** Bytes of white space in front of the body. */
  readonly padding?: number;
  readonly socket?: 'control' | 'llm';
}
export type WireStep =
  | (WireRequest & { readonly name: string })
  | { readonly name: string; readonly parallel: readonly WireRequest[] }
  | { readonly sleepMs: number };
export interface WireTask {
  readonly steps: readonly WireStep[];
  readonly end?: 'silence' | 'exit';
  readonly outcome?: 'completed' | 'failed';
}

/**
 * A stack whose images hold the wire runner, with an agent `wire` under the default policy. In the place of the Claude harness and of Codex it may speak to
 * the model; `script` and `responses` say what that answers.
 */
export async function startWireStack(
  environment: Readonly<Record<string, string>> = {},
  script: Parameters<typeof startSystemStack>[0]['script'] = { steps: [] },
  responses?: Parameters<typeof startSystemStack>[0]['responses'],
): Promise<SystemStack> {
  const images = wireRunnerImages();
  let stack: SystemStack | undefined;
  const stop = async (): Promise<void> => {
    await stack?.stop();
    fs.rmSync(images, { recursive: true, force: true });
  };
  try {
    stack = await startSystemStack({
      script,
      ...(responses === undefined ? {} : { responses }),
      environment: { FLUIDBOX_IMAGES_DIR: images, ...environment },
    });
    await stack.admin.createAgent({ name: 'wire', harness: 'scripted', policy: 'default' });
    return { ...stack, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function wireRunnerImages(): string {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-images-'));
  const source = fs.readFileSync(path.join(__dirname, 'wire-runner/main.js'));
  const digest = `sha256:${createHash('sha256').update(source).digest('hex')}`;
  for (const image of ['scripted-runner', 'claude-runner', 'codex-runner']) {
    const bundle = path.join(dir, image, 'dist/bundle');
    fs.mkdirSync(bundle, { recursive: true });
    fs.writeFileSync(path.join(bundle, 'main.js'), source);
    fs.writeFileSync(path.join(dir, image, 'dist/image.json'), JSON.stringify({ digest, binds: [] }));
  }
  return dir;
}

/** Runs a wire task to its end: its answers (from the diff) and its events. */
export async function runWire(
  api: ApiClient,
  agent: string,
  task: WireTask,
  options: { budgets?: Record<string, number>; autonomous?: boolean; onStarted?: (id: string) => void } = {},
): Promise<{ id: string; answers: Record<string, WireAnswer & WireAnswer[]>; events: EventView[] }> {
  const { session } = await api.createSession({
    agent,
    task: JSON.stringify(task),
    autonomous: options.autonomous ?? false,
    ...(options.budgets === undefined ? {} : { budgets: options.budgets }),
  });
  options.onStarted?.(session.id);
  for await (const event of api.watch(session.id)) if (event.type === 'run.result') break;
  const events = await api.allEvents(session.id);
  const diff = events.some((event) => event.type === 'artifact.collected') ? (await api.artifact(session.id, 'diff')).toString('utf8') : '';
  const line = diff.split('\n').find((each) => each.startsWith('+{'));
  return { id: session.id, answers: line === undefined ? {} : JSON.parse(line.slice(1)), events };
}

export const typesOf = (events: readonly EventView[], type: string): EventView[] => events.filter((event) => event.type === type);
