import { Stops } from './stops';

describe('stopping', () => {
  it('goes in reverse, past a step that fails, and only once', async () => {
    const failures: string[] = [];
    const order: string[] = [];
    const stops = new Stops((name) => failures.push(name));
    for (const name of ['first', 'second', 'third']) {
      stops.add(name, async () => {
        order.push(name);
        if (name === 'second') throw new Error('stuck');
      });
    }
    await Promise.all([stops.stop(), stops.stop()]);
    expect([order, failures]).toEqual([['third', 'second', 'first'], ['second']]);
  });
});
