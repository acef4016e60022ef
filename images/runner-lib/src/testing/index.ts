export type { LaunchedRun, RunnerImage } from './outer-sandbox';
export { type SceneOptions, sandboxScene } from './sandbox-scene';
