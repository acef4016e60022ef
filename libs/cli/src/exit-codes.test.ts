import { exitCodeOfOutcome, exitCodeOfStatus } from './exit-codes';

describe('exit codes', () => {
  it('are 0 for a completed run only', () => {
    expect(['completed', 'failed', 'budget_exceeded', 'cancelled', null].map(exitCodeOfOutcome)).toEqual([0, 1, 6, 8, 1]);
  });

  it('tell refusals apart', () => {
    expect([401, 403, 404, 409, 422, 503].map(exitCodeOfStatus)).toEqual([3, 3, 4, 5, 2, 9]);
  });
});
