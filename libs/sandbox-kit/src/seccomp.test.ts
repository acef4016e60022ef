import { ImageManifest } from './image-manifest';
import { seccompFilter } from './seccomp';

describe('seccompFilter', () => {
  it.each(['x64', 'arm64'])('is whole instructions of 8 bytes on %s, and strict denies more than loose', (architecture) => {
    const loose = seccompFilter('loose', architecture);
    const strict = seccompFilter('strict', architecture);
    expect(loose.length % 8).toBe(0);
    expect(strict.length % 8).toBe(0);
    expect(strict.length).toBeGreaterThan(loose.length);
  });
  it('refuses an architecture it has no table for: a filter with wrong numbers would deny the wrong calls', () => {
    expect(() => seccompFilter('loose', 'riscv64')).toThrow(/riscv64/);
  });
});

describe('ImageManifest', () => {
  const digest = `sha256:${'a'.repeat(64)}`;
  it.each(['/opt/claude', '/opt/agent-2'])('takes a bind at %s', (dest) =>
    expect(ImageManifest.safeParse({ digest, binds: [{ src: 'x', dest }] }).success).toBe(true),
  );
  it.each(['/opt/runner', '/opt/node', '/usr/bin/x', '/opt/../etc', '/opt/a/b'])('refuses a bind at %s', (dest) =>
    expect(ImageManifest.safeParse({ digest, binds: [{ src: 'x', dest }] }).success).toBe(false),
  );
});
