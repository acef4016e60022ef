export { type AskedCall, type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane';
export {
  type LaunchedRun,
  type LaunchOptions,
  launchInSandbox,
  newRunFolder,
  type RunFolder,
  type RunnerImage,
  readRunnerImage,
} from './outer-sandbox';
export { type SandboxScene, type SceneOptions, sandboxScene } from './sandbox-scene';
