export { BudgetKind, budgetKinds } from './budget';
export * from './event';
export * from './event-types';
export { CallClass } from './model-call';
export { Coverage, Outcome, RunStatus, runStatuses, StatusReason, statusReasons, terminalStatuses } from './run';
export { ArtifactKind } from './sandbox';
export * from './stream';
export { ApprovalOutcome, ApprovalScope, DecisionSource, RuleRef, Verdict } from './tool-call';
