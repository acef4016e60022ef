import type { SignedHead } from './sign-checkpoint';
import { tellAll } from './witness';

it('a witness that fails keeps the head from no other', () => {
  const head: SignedHead = { org: 'default', id: 'run', stream: 'run-run', seq: 1, hash: 'a', jws: 'j' };
  const told: SignedHead[] = [];
  const failed: string[] = [];
  const broken = () => {
    throw new Error('away');
  };
  tellAll(
    [
      { name: 'broken', tell: broken },
      { name: 'kept', tell: (each) => told.push(each) },
    ],
    (witness) => failed.push(witness),
  )(head);
  expect([told, failed]).toEqual([[head], ['broken']]);
});
