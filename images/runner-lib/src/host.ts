/** What the control plane's side may import: nothing here touches a token, a socket or the agent. */
export { digestOfBundle, type RunnerImage, runnerImageAt } from './runner-image';
export { type Architecture, seccompFilter } from './seccomp';
