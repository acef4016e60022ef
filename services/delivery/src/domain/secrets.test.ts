import { rotated, validSecrets } from './secrets';

const first = { url: 'https://h/', secret: 'one', old: null };

describe('the secrets of a webhook', () => {
  it('are one, and two while a rotation is taken over', () => {
    expect(validSecrets(first, 0)).toEqual(['one']);
    const second = rotated(first, 'two', 1_000, 500);
    expect(validSecrets(second, 1_499)).toEqual(['two', 'one']);
    expect(validSecrets(second, 1_500)).toEqual(['two']);
  });
  it('are never three', () => {
    const third = rotated(rotated(first, 'two', 1_000, 500), 'three', 1_100, 500);
    expect(validSecrets(third, 1_101)).toEqual(['three', 'two']);
    expect(JSON.stringify(third)).not.toContain('one');
  });
});
