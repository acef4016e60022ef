import { growApprovals } from '../proof/approvals/prove-approvals';

describe('very many approvals, at toy size', () => {
  it('[APPROVAL-5] H-DB-02 wait, survive a kill, expire on time and are answered', async () => {
    const rows = await growApprovals({ pending: 500, blocked: 100, decided: 20 }, () => undefined);
    // Memory of so few calls is noise; everything else must hold at any size.
    const counted = rows.filter(({ unit }) => unit !== 'KB');
    expect(counted.filter(({ figure, bound }) => !(figure <= bound))).toEqual([]);
    expect(rows).toHaveLength(8);
  });
});
