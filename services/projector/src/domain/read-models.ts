import type { EventType, ReadModelName } from '@fluidbox/contracts';

/**
 * The read models and the revision of the code that fills each. Whoever changes what a row says raises the number: at its next start projector fills the
 * model anew beside the live one.
 */
export const modelRevisions: Readonly<Record<ReadModelName, number>> = { runs: 1, approvals: 2, artifacts: 2, costs: 1, gate: 1 };

/** Which version of which model a page is written to. */
export type ModelVersions = ReadonlyMap<ReadModelName, number>;

/** Its position is the one of all live versions; `fluidbox rebuild` fills others beside them. */
export const liveFollowerName = 'projector.read-models.1';

/** What a model is made of beside the beginning of each run: filling it anew reads nothing else. The list of runs is made of everything. */
export const typesOfModel: Readonly<Record<ReadModelName, readonly EventType[] | null>> = {
  runs: null,
  approvals: ['session.created', 'approval.requested', 'approval.voted', 'approval.decided'],
  artifacts: ['session.created', 'artifact.collected'],
  costs: ['session.created', 'model.response'],
  gate: ['session.created', 'tool.decision', 'approval.requested'],
};
