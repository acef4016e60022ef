import type { GrowthRow } from './row';

/** Every law of growth that is measured. Add a row: one file, one line here. */
export const growthRows: readonly GrowthRow[] = [];
