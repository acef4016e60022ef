export { rewriteForAutonomy } from './autonomy';
export { type CompiledPolicy, compilePolicy } from './compile';
export { parsePolicy } from './document';
export { evaluate, evaluateProjection, type PolicyVerdict } from './evaluate';
export { type Explanation, explain } from './explain';
export { type GateProjection, gateProjection, type ToolCall } from './projection';
export { type FailedTest, runPolicyTests } from './run-tests';
export { evaluateTrustTier } from './trust-tier';
export { ENGINE_VERSION } from './version';
