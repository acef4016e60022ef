import { type Principal, Problem } from '@fluidbox/contracts';
import { fakeClock } from '@fluidbox/testing';
import { stillSees } from './still-sees';

const approver: Principal = { name: 'ann', role: 'approver', org: 'default' };

function opened(answers: () => Principal) {
  const clock = fakeClock();
  let asked = 0;
  const authenticate = async (): Promise<Principal> => {
    asked += 1;
    return answers();
  };
  const sees = stillSees(
    { authenticate, now: () => clock.now() },
    { authorization: 'Bearer x', run: { invokedBy: 'bob', org: 'default' } },
    5_000,
  );
  return { clock, sees, asked: () => asked };
}

describe('a stream that is open', () => {
  it('goes on while its token is good, which is looked up now and then only', async () => {
    const { clock, sees, asked } = opened(() => approver);
    expect([await sees(), await sees(), asked()]).toEqual([true, true, 0]);
    clock.advance(5_000);
    expect([await sees(), await sees(), asked()]).toEqual([true, true, 1]);
  });

  it('ends with its token, and with the role that let it see the run', async () => {
    const revoked = opened(() => {
      throw new Problem('unauthorized', 'revoked');
    });
    const lesser = opened(() => ({ ...approver, role: 'member' }));
    for (const { clock, sees } of [revoked, lesser]) {
      clock.advance(5_000);
      expect(await sees()).toBe(false);
    }
  });

  it('does not take a database that is away for a revoked token', async () => {
    const { clock, sees } = opened(() => {
      throw new Problem('unavailable', 'the database is away');
    });
    clock.advance(5_000);
    await expect(sees()).rejects.toMatchObject({ code: 'unavailable' });
  });
});
