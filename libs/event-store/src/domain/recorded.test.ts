import type { LedgerBody } from '@fluidbox/contracts';
import { recordedOf, recordedOfLog } from './recorded';

const body = (type: string, version: number, data: Record<string, unknown>): LedgerBody => ({
  event_id: '0198b3a0-0000-7000-8000-0000000000bb',
  org: 'default' as LedgerBody['org'],
  stream: 'run-0198b3a0-0000-7000-8000-000000000001',
  type,
  version,
  actor: 'service:test',
  occurred_at: '2026-01-05T10:00:00.000Z',
  data,
});

describe('a stored event', () => {
  it('is read in the shape of today, from its row and from the log: of an approval of version 1 the question says the key, the answer no longer', () => {
    const both = (stored: LedgerBody) => [
      recordedOf(3, 7, stored),
      recordedOfLog({ seq: 3, globalPosition: 7, body: JSON.stringify(stored) }),
    ];
    for (const asked of both(body('approval.requested', 1, { scope: 'session', scope_key: 'Bash:npm test' })))
      expect(asked).toMatchObject({ seq: 3, globalPosition: 7, version: 2, data: { scope: 'session', scope_key: 'Bash:npm test' } });
    for (const decided of both(body('approval.decided', 1, { decision: 'approved', scope_key: 'Bash:npm test' })))
      expect(decided).toMatchObject({ version: 2, data: { decision: 'approved' } });
    expect(recordedOf(1, 1, body('approval.decided', 1, { scope_key: 'Bash:npm test' })).data).toEqual({});
  });

  it('of a version that is newer than this code keeps its data', () => {
    const newer = body('approval.decided', 9, { scope_key: 'Bash:npm test' });
    expect(recordedOf(1, 1, newer)).toMatchObject({ version: 9, data: { scope_key: 'Bash:npm test' } });
  });
});
