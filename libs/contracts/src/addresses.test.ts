import { isPrivateAddress } from './addresses';

describe('isPrivateAddress', () => {
  it.each([
    '127.0.0.1',
    '10.1.2.3',
    '169.254.169.254',
    '192.168.0.1',
    '172.31.0.1',
    '100.64.0.1',
    '0.0.0.0',
    '::1',
    '::',
    'fe80::1',
    'fd00::1',
    '::ffff:10.0.0.1',
    '2002:a00:1::',
    '2001::1',
    '64:ff9b::a00:1',
  ])('%s is private', (address) => expect(isPrivateAddress(address)).toBe(true));
  it.each(['1.1.1.1', '140.82.112.3', '2606:4700:4700::1111', '2a00:1450::1', '2001:4860:4860::8888', '172.32.0.1'])(
    '%s is public',
    (address) => expect(isPrivateAddress(address)).toBe(false),
  );
});
