import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { checkHost } from './host-checks';
import { firstSandboxUid } from './uids';

const isRoot = process.getuid?.() === 0;
const uid = isRoot ? firstSandboxUid() : null;

describe('checkHost', () => {
  it('passes where a sandbox in a sandbox can be made', () => {
    expect(checkHost(uid, isRoot, '')).toEqual({ ok: true, bubblewrap: expect.stringMatching(/bwrap$/) });
  });

  it('refuses, with what was said and a fix, where it cannot', () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-check-'));
    fs.writeFileSync(path.join(folder, 'bwrap'), '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n', {
      mode: 0o755,
    });
    expect(checkHost(uid, isRoot, folder)).toEqual({
      ok: false,
      reason: expect.stringMatching(/No permissions to create new namespace.*Fix: /),
    });
    fs.rmSync(folder, { recursive: true });
  });

  it('refuses root without uids to drop to', () => {
    expect(checkHost(null, true, '')).toEqual({ ok: false, reason: expect.stringMatching(/too few uids.*Fix: /) });
  });
});

describe('firstSandboxUid', () => {
  it.each([
    ['         0          0 4294967295', 200_000],
    ['0 100000 65536', 30_000],
    ['0 1000 1', null],
    ['0 1000 1\n1 100000 400000', 200_000],
  ])('%j', (map, first) => expect(firstSandboxUid(map)).toBe(first));
});
