import { growApprovals } from '../proof/approvals/prove-approvals';

describe('very many approvals, at toy size', () => {
  it('[APPROVAL-5] H-DB-02 wait without a database connection, survive a kill, expire and are answered', async () => {
    const rows = await growApprovals({ pending: 500, blocked: 100, decided: 20 }, () => undefined);
    // Memory of so few calls is noise, and how long something takes is the machine's; what is counted must hold at any size.
    const counted = rows.filter(({ unit }) => unit === '');
    expect(counted).toHaveLength(4);
    expect(counted.filter(({ figure, bound }) => !(figure <= bound))).toEqual([]);
    expect(rows).toHaveLength(9);
  });
});
