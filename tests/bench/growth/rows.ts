import { appendByRun } from './append-by-run';
import { appendByTable, askByTable } from './append-by-table';
import { listGrowth } from './lists';
import { pageGrowth } from './pages';
import { rebuildGrowth } from './rebuild';
import { foldCold, resumeCached } from './resume';
import type { GrowthRow } from './row';
import { watcherGrowth } from './watchers';

/** Every law of growth that is measured. Add a row: one file, one line here. */
export const growthRows: readonly GrowthRow[] = [
  appendByRun,
  resumeCached,
  foldCold,
  watcherGrowth,
  pageGrowth,
  listGrowth,
  rebuildGrowth,
  appendByTable,
  askByTable,
];
