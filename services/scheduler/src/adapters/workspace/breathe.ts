import { setImmediate as nextTurn } from 'node:timers/promises';

const turnMsMax = 10;

/** Lets others of this process have their turn: file work is synchronous, because that is several times quicker for many small files. */
export function breather(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < turnMsMax) return;
    await nextTurn();
    since = performance.now();
  };
}
