import type { ReadModelName } from '@fluidbox/contracts';

/**
 * The read models and the revision of the code that fills each. Whoever changes what a row says raises the number: at its next start projector fills the
 * model anew beside the live one.
 */
export const modelRevisions: Readonly<Record<ReadModelName, number>> = { runs: 1, approvals: 1, artifacts: 2, costs: 1, gate: 1 };

/** Which version of which model a page is written to. */
export type ModelVersions = ReadonlyMap<ReadModelName, number>;

/** Its position is the one of all live versions; `fluidbox rebuild` fills others beside them. */
export const liveFollowerName = 'projector.read-models.1';
