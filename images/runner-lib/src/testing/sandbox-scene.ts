import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane';
import {
  type LaunchedRun,
  type LaunchOptions,
  launchInSandbox,
  newRunFolder,
  type RunFolder,
  type RunnerImage,
  readRunnerImage,
} from './outer-sandbox';

export interface SceneOptions {
  readonly plane?: Partial<ControlPlaneOptions>;
  readonly launch?: Partial<LaunchOptions>;
}

export interface SandboxScene {
  /** Of the test that runs now. */
  readonly folder: RunFolder;
  /** Of the last run of that test. */
  readonly control: ControlPlane;
  image(): RunnerImage;
  /** Puts a file into the workspace, as the sandbox's own. */
  give(file: string, content: string): void;
  /** One run to its end, in which every call is allowed unless the options say otherwise. */
  run(task: string, options?: SceneOptions): Promise<LaunchedRun>;
}

/** What the sandbox tests of every runner share, as hooks of jest: its bundle built once, a folder and a control plane for each test. */
export function sandboxScene(packageDir: string): SandboxScene {
  let folder: RunFolder | undefined;
  let control: ControlPlane | undefined;
  beforeAll(() => {
    execFileSync(process.execPath, [path.join(packageDir, 'bundle.mjs')]);
  });
  beforeEach(() => {
    folder = newRunFolder();
  });
  afterEach(async () => {
    await control?.close();
    control = undefined;
    folder?.remove();
  });

  const scene: SandboxScene = {
    get folder() {
      if (folder === undefined) throw new Error('a folder exists inside a test only');
      return folder;
    },
    get control() {
      if (control === undefined) throw new Error('this test has not run anything yet');
      return control;
    },
    image: () => readRunnerImage(path.join(packageDir, 'dist')),
    give: (file, content) => {
      const { workspace, uid } = scene.folder;
      const target = path.join(workspace, file);
      fs.mkdirSync(path.dirname(target), { recursive: true });
      fs.writeFileSync(target, content);
      execFileSync('chown', ['-R', `${uid}:${uid}`, workspace]);
    },
    run: async (task, { plane, launch } = {}) => {
      const { gatewayDir, uid } = scene.folder;
      control = await startControlPlane({ gatewayDir, ownerUid: uid, decide: () => ({ decision: 'allow' }), ...plane });
      return launchInSandbox({ folder: scene.folder, image: scene.image(), control, task, ...launch });
    },
  };
  return scene;
}
