import { notIndependent } from './proposal';

describe('a second person', () => {
  const proposer = { by: 'ann', madeBy: ['max'] };
  it.each([
    ['the proposer', { name: 'ann', madeBy: ['max'] }, 'ann proposed it'],
    ['a token that the proposer made', { name: 'bob', madeBy: ['ann'] }, 'ann stands behind'],
    ['one further down', { name: 'cas', madeBy: ['ann', 'bob'] }, 'ann stands behind'],
    ['the maker of the proposer’s token', { name: 'max', madeBy: [] }, 'max stands behind'],
    ['a token of the same maker', { name: 'bob', madeBy: ['max'] }, 'max stands behind'],
  ])('is not %s', (_what, decider, why) => expect(notIndependent(proposer, decider)).toContain(why));

  it.each([
    { name: 'bob', madeBy: [] },
    { name: 'bob', madeBy: ['eve'] },
  ])('is somebody whose token has another maker: %j', (decider) => expect(notIndependent(proposer, decider)).toBeNull());
});
