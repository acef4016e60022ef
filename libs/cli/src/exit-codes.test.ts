import fs from 'node:fs';
import path from 'node:path';
import { exitCodeLines, exitCodeOfOutcome, exitCodeOfStatus } from './exit-codes';

describe('exit codes', () => {
  it('are 0 for a completed run only', () => {
    const codes = ['completed', 'failed', 'budget_exceeded', 'cancelled', null].map((outcome) => exitCodeOfOutcome(outcome, null));
    expect(codes).toEqual([0, 1, 6, 8, 1]);
  });

  it('tell a run whose time was up from one that spent another budget', () => {
    expect(['wall_clock', 'budget'].map((reason) => exitCodeOfOutcome('budget_exceeded', reason))).toEqual([7, 6]);
  });

  it('stand in the README as they are', () => {
    const readme = fs.readFileSync(path.join(__dirname, '../../../README.md'), 'utf8');
    expect(readme).toContain(`Exit codes: ${exitCodeLines().join(' · ')}.`);
  });

  it('tell refusals apart', () => {
    expect([401, 403, 404, 409, 422, 503].map(exitCodeOfStatus)).toEqual([3, 3, 4, 5, 2, 9]);
  });
});
