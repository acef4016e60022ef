export { exitCodes, RunnerExit } from './exit-codes';
export { faultSentence } from './fault-sentence';
export { type Forwarder, startForwarder } from './forwarder';
export { runShellCommand } from './inner-command';
export { innerEnvironment, shellSandboxBinds, spawnInner } from './inner-sandbox';
export { providerSentence } from './provider-sentence';
export { type Agent, type AgentContext, runAgent } from './run-agent';
export type { RunnerInput } from './runner-input';
