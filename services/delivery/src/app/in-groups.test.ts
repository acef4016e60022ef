import { inGroups } from './in-groups';

/** Work that is held until the test lets it go; items that begin with `bad` fail their group. */
function world() {
  const groups: string[][] = [];
  const held: (() => void)[] = [];
  const shout = inGroups(async (group: readonly string[]) => {
    groups.push([...group]);
    await new Promise<void>((go) => held.push(go));
    if (group.some((item) => item.startsWith('bad'))) throw new Error(`refused: ${group.join()}`);
    return group.map((item) => item.toUpperCase());
  });
  const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  const letGo = async (): Promise<void> => {
    for (const go of held.splice(0)) go();
    await turn();
  };
  return { shout, groups, turn, letGo };
}

describe('work in groups', () => {
  it('takes those of one turn together, and while a group is under way the next one gathers', async () => {
    const { shout, groups, turn, letGo } = world();
    const first = Promise.all([shout('a'), shout('b')]);
    await turn();
    const second = Promise.all([shout('c'), shout('d'), shout('e')]);
    await turn();
    expect(groups).toEqual([['a', 'b']]);
    await letGo();
    expect(await first).toEqual(['A', 'B']);
    expect(groups[1]).toEqual(['c', 'd', 'e']);
    await letGo();
    expect(await second).toEqual(['C', 'D', 'E']);
  });

  it('does a group that fails again one by one: only what is at fault fails', async () => {
    const { shout, groups, turn, letGo } = world();
    const answers = Promise.allSettled(['a', 'bad', 'c'].map(shout));
    await turn();
    await letGo();
    await letGo();
    expect((await answers).map((answer) => (answer.status === 'fulfilled' ? answer.value : String(answer.reason)))).toEqual([
      'A',
      'Error: refused: bad',
      'C',
    ]);
    expect(groups).toEqual([['a', 'bad', 'c'], ['a'], ['bad'], ['c']]);
    const after = shout('d');
    await turn();
    await letGo();
    expect(await after).toBe('D');
  });

  it('keeps a group within its bound', async () => {
    const { shout, groups, turn, letGo } = world();
    const all = Promise.all(Array.from({ length: 600 }, (_, n) => shout(String(n))));
    await turn();
    for (let round = 0; round < 3; round += 1) await letGo();
    expect((await all)[599]).toBe('599');
    expect(groups.map(({ length }) => length)).toEqual([256, 256, 88]);
  });
});
