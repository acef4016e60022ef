import { Receivers } from './receivers';

/** Deliveries that wait for their turn, and what became of them, in the order in which they were answered. */
function world() {
  const receivers = new Receivers();
  const answers: [string, boolean][] = [];
  const take = (id: string, count: number, failing = false): void => {
    for (let n = 0; n < count; n += 1) {
      receivers.take(id, failing);
      void receivers.enter(id).then((admitted) => answers.push([id, admitted]));
    }
  };
  const counted = async (): Promise<Record<string, number>> => {
    await new Promise((resolve) => setImmediate(resolve));
    const counts: Record<string, number> = {};
    for (const [id, admitted] of answers.splice(0)) {
      const key = admitted ? id : `${id} away`;
      counts[key] = (counts[key] ?? 0) + 1;
    }
    return counts;
  };
  return { receivers, take, counted };
}

describe('the turns of receivers', () => {
  it('each gets eight attempts at once, and the next when one ends', async () => {
    const { receivers, take, counted } = world();
    take('a', 12);
    take('b', 3);
    expect(await counted()).toEqual({ a: 8, b: 3 });
    receivers.leave('a', true);
    expect(await counted()).toEqual({ a: 1 });
    // One that did not begin says nothing of the receiver.
    receivers.leave('a', null);
    expect(await counted()).toEqual({ a: 1 });
  });

  it('gets one at a time while it fails, and eight again once it has answered', async () => {
    const { receivers, take, counted } = world();
    take('a', 30);
    await counted();
    for (let n = 0; n < 7; n += 1) receivers.leave('a', false);
    expect(await counted()).toEqual({});
    receivers.leave('a', false);
    expect(await counted()).toEqual({ a: 1 });
    receivers.leave('a', true);
    expect(await counted()).toEqual({ a: 8 });
  });

  it('begins with one when the table says that it failed, and believes what it sees itself from then on', async () => {
    const { receivers, take, counted } = world();
    take('a', 3, true);
    expect(await counted()).toEqual({ a: 1 });
    receivers.leave('a', true);
    expect(await counted()).toEqual({ a: 2 });
    // Claimed before that was recorded.
    take('a', 2, true);
    expect(await counted()).toEqual({ a: 2 });
  });

  it('is forgotten once nothing is taken for it', async () => {
    const { receivers, take, counted } = world();
    take('a', 2);
    receivers.leave('a', false);
    expect([receivers.end('a'), receivers.taken]).toEqual([1, 1]);
    receivers.leave('a', false);
    expect([receivers.end('a'), receivers.taken]).toEqual([0, 0]);
    await counted();
    take('a', 2);
    expect(await counted()).toEqual({ a: 2 });
  });

  it('sends away who waits, for one receiver or for all', async () => {
    const { receivers, take, counted } = world();
    take('a', 10);
    take('b', 10);
    await counted();
    receivers.sendAway('a');
    expect(await counted()).toEqual({ 'a away': 2 });
    receivers.close();
    take('c', 1);
    expect(await counted()).toEqual({ 'b away': 2, 'c away': 1 });
  });

  it('a process makes 256, and when there is room again it goes round', async () => {
    const { receivers, take, counted } = world();
    for (let n = 0; n < 32; n += 1) take(`r${n}`, 20);
    expect(Object.values(await counted())).toEqual(Array(32).fill(8));
    take('late', 1);
    expect([receivers.full, await counted()]).toEqual([true, {}]);
    for (let n = 0; n < 33; n += 1) receivers.leave(`r${n % 32}`, true);
    const served = await counted();
    expect([served.late, Object.values(served).reduce((sum, count) => sum + count)]).toEqual([1, 33]);
  });
});
