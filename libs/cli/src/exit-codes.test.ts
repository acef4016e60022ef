import { exitCodeOfOutcome, exitCodeOfStatus } from './exit-codes';

describe('exit codes', () => {
  it('are 0 for a completed run only', () => {
    const codes = ['completed', 'failed', 'budget_exceeded', 'cancelled', null].map((outcome) => exitCodeOfOutcome(outcome, null));
    expect(codes).toEqual([0, 1, 6, 8, 1]);
  });

  it('tell a run whose time was up from one that spent another budget', () => {
    expect(['wall_clock', 'budget'].map((reason) => exitCodeOfOutcome('budget_exceeded', reason))).toEqual([7, 6]);
  });

  it('tell refusals apart', () => {
    expect([401, 403, 404, 409, 422, 503].map(exitCodeOfStatus)).toEqual([3, 3, 4, 5, 2, 9]);
  });
});
