import type { LedgerBody } from '@fluidbox/contracts';
import { recordedOf } from './recorded';

const body = {
  event_id: '0198b3a0-0000-7000-8000-000000000001',
  org: 'default',
  stream: 'run-0198b3a0-0000-7000-8000-000000000002',
  type: 'approval.decided',
  version: 1,
  actor: 'service:approvals',
  occurred_at: '2026-01-01T00:00:00.000Z',
  data: { decision: 'approved', scope_key: 'Bash:ls' },
} as unknown as LedgerBody;

describe('an event as readers see it', () => {
  it('has the shape of today', () => {
    expect(recordedOf(3, 7, body)).toMatchObject({ seq: 3, globalPosition: 7, version: 2, data: { decision: 'approved' } });
  });

  it.each([[undefined], [null], ['text'], [[1]]])('has no data where %j stands in its place, and stops nobody', (data) => {
    expect(recordedOf(3, 7, { ...body, data } as unknown as LedgerBody)).toMatchObject({ type: 'approval.decided', data: {} });
  });
});
