import { listGrowth } from './lists';
import { pageGrowth } from './pages';
import { rebuildGrowth } from './rebuild';
import type { GrowthRow } from './row';
import { watcherGrowth } from './watchers';

/** Every law of growth that is measured. Add a row: one file, one line here. */
export const growthRows: readonly GrowthRow[] = [watcherGrowth, pageGrowth, listGrowth, rebuildGrowth];
