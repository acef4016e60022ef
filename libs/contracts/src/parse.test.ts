import { z } from 'zod';
import { BudgetsInput, SetBudgetBody } from './budgets';
import { parseOrProblem } from './parse';
import { Problem } from './problem';

function problemOf(schema: z.ZodType, value: unknown): Problem {
  try {
    parseOrProblem(schema, value);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error('it was taken');
}

describe('what is wrong with a request', () => {
  const Request = z.strictObject({
    task: z.string().min(1),
    limit: z.number().int().max(500).optional(),
    tags: z.array(z.string()).max(2).optional(),
    within: z.strictObject({ a: z.boolean() }).optional(),
  });

  it.each<[unknown, string, string]>([
    [{}, '/task', 'is missing: must be a string'],
    [{ task: 1 }, '/task', 'must be a string'],
    [{ task: '' }, '/task', 'must have at least 1 characters'],
    [{ task: 'x', limit: 501 }, '/limit', 'must be at most 500'],
    [{ task: 'x', limit: 1.5 }, '/limit', 'must be a whole number'],
    [{ task: 'x', tags: ['a', 'b', 'c'] }, '/tags', 'must have at most 2 entries'],
    [{ task: 'x', taks: 'y' }, '/taks', 'is not known here'],
    [{ task: 'x', within: { a: true, 'b/c': 1 } }, '/within/b~1c', 'is not known here'],
    [null, '', 'must be an object'],
  ])('%j: %s %s', (value, pointer, detail) => {
    const problem = problemOf(Request, value);
    expect(problem.errors).toEqual([{ pointer, detail }]);
    expect(problem.message).toBe(`${pointer === '' ? 'body' : pointer}: ${detail}`);
  });

  it('names every field, and each unknown one where it stands', () => {
    expect(
      problemOf(Request, { limit: 'x', a: 1, b: 2 })
        .errors?.map(({ pointer }) => pointer)
        .sort(),
    ).toEqual(['/a', '/b', '/limit', '/task']);
  });

  it('takes what is right', () => {
    expect(parseOrProblem(Request, { task: 'x', limit: 500, within: { a: true } })).toEqual({
      task: 'x',
      limit: 500,
      within: { a: true },
    });
  });
});

describe('a cost that is less than can be counted', () => {
  it('is refused where it would become nothing', () => {
    expect(problemOf(BudgetsInput, { max_cost_usd: 1e-7 }).message).toBe('/max_cost_usd: must be at least 0.000001');
    expect(problemOf(SetBudgetBody, { period: 'month', max_cost_usd: 1e-7 }).message).toBe('/max_cost_usd: must be 0 or at least 0.000001');
    expect(problemOf(SetBudgetBody, { period: 'month', max_cost_usd: -1 }).message).toBe('/max_cost_usd: must be 0 or at least 0.000001');
  });
  it('and the least that can be is taken, as nothing is where it is meant', () => {
    expect(parseOrProblem(BudgetsInput, { max_cost_usd: 0.000001 })).toEqual({ max_cost_usd: 0.000001 });
    expect(parseOrProblem(SetBudgetBody, { period: 'total', max_cost_usd: 0 })).toMatchObject({ max_cost_usd: 0 });
  });
});
