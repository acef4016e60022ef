import type { Principal, TokenMakers } from '@fluidbox/contracts';
import type { TokenStore } from './authenticate';
import { createToken } from './manage-tokens';

const admin = (name: string): Principal => ({ name, role: 'admin', org: 'default' });

function tokens() {
  const made = new Map<string, TokenMakers>();
  const store: TokenStore = {
    findByHash: async () => null,
    create: async ({ name, madeBy }) => void made.set(name, madeBy),
    list: async () => [],
    revoke: async () => false,
    makersOf: async (_org, name) => made.get(name) ?? null,
    touch: () => undefined,
  };
  return {
    made,
    create: (by: string, name: string) =>
      createToken({ tokens: store, newToken: () => ({ token: 't', hash: 'h' }), now: () => new Date(0) }, admin(by), {
        name,
        role: 'admin',
        ttl_days: 1,
      }),
  };
}

describe('the makers of a token', () => {
  it('are written into it, without the bootstrap token', async () => {
    const { create, made } = tokens();
    await create('admin', 'ann');
    await create('ann', 'bob');
    await create('bob', 'cas');
    expect([...made]).toEqual([
      ['ann', []],
      ['bob', ['ann']],
      ['cas', ['ann', 'bob']],
    ]);
  });

  it('stay what they were when a name is used again: a chain cannot be cut', async () => {
    const { create, made } = tokens();
    await create('admin', 'ann');
    await create('ann', 'bob');
    await create('bob', 'cas');
    await create('cas', 'bob');
    expect([made.get('bob'), made.get('cas')]).toEqual([
      ['ann', 'bob', 'cas'],
      ['ann', 'bob'],
    ]);
  });

  it('are unknown where those of the maker are, and end somewhere', async () => {
    const { create, made } = tokens();
    await create('older', 'bob');
    expect(made.get('bob')).toBeNull();
    await create('admin', 't0');
    for (let i = 0; i < 32; i++) await create(`t${i}`, `t${i + 1}`);
    await expect(create('t32', 't33')).rejects.toMatchObject({ code: 'conflict' });
  });
});
