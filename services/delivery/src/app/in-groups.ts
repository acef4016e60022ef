interface Waiting<Item, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

const groupMax = 256;

/**
 * Group commit for work on the database: while one group is under way the next one gathers; no timer. `work` answers in the order of its group. A group that
 * fails is done again one by one, so that nothing fails for what it happened to stand beside.
 */
export function inGroups<Item, Result>(work: (group: readonly Item[]) => Promise<readonly Result[]>): (item: Item) => Promise<Result> {
  let gathered: Waiting<Item, Result>[] = [];
  let running = false;
  const settle = async (group: readonly Waiting<Item, Result>[]): Promise<void> => {
    try {
      const results = await work(group.map(({ item }) => item));
      for (const [at, one] of group.entries()) one.resolve(results[at] as Result);
    } catch (error) {
      if (group.length === 1) group[0]?.reject(error);
      else await Promise.all(group.map((one) => settle([one])));
    }
  };
  const run = async (): Promise<void> => {
    running = true;
    // Lets whoever comes in this turn come along.
    await new Promise((resolve) => setImmediate(resolve));
    for (; gathered.length > 0; ) {
      const group = gathered.slice(0, groupMax);
      gathered = gathered.slice(groupMax);
      await settle(group);
    }
    running = false;
  };
  return (item) =>
    new Promise((resolve, reject) => {
      gathered.push({ item, resolve, reject });
      if (!running) void run();
    });
}
