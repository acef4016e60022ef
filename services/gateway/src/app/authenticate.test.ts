import { hashApiToken, sameSecret } from '@fluidbox/seal';
import { authenticate, type StoredToken } from './authenticate';

const now = new Date('2026-11-29T10:00:00.000Z');
const stored: StoredToken = { name: 'ann', org: 'default', role: 'approver', expiresAt: new Date(now.getTime() + 1000), revokedAt: null };
const touched: string[] = [];
const admit = (token: StoredToken | null) =>
  authenticate({
    tokens: {
      findByHash: async (hash) => (hash === hashApiToken('fbx_pat_ann') ? token : null),
      create: async () => undefined,
      list: async () => [],
      makersOf: async () => null,
      revoke: async () => false,
      touch: (hash) => touched.push(hash),
    },
    adminTokenHash: hashApiToken('admin-secret'),
    hashToken: hashApiToken,
    sameSecret,
    now: () => now,
  });

describe('authenticate', () => {
  it('admits the bootstrap admin and a live token, as themselves', async () => {
    expect(await admit(null)('Bearer admin-secret')).toEqual({ name: 'admin', role: 'admin', org: 'default' });
    expect(await admit(stored)('bearer fbx_pat_ann')).toEqual({ name: 'ann', role: 'approver', org: 'default' });
    expect(touched).toHaveLength(1);
  });

  it.each([
    ['no header', undefined, stored],
    ['another scheme', 'Basic fbx_pat_ann', stored],
    ['an unknown token', 'Bearer fbx_pat_bob', stored],
    ['an expired token', 'Bearer fbx_pat_ann', { ...stored, expiresAt: now }],
    ['a revoked token', 'Bearer fbx_pat_ann', { ...stored, revokedAt: now }],
    ['two tokens', 'Bearer fbx_pat_ann fbx_pat_ann', stored],
  ])('refuses %s', async (_name, header, token) => {
    await expect(admit(token)(header)).rejects.toMatchObject({ code: 'unauthorized' });
  });
});
