import { type Principal, Problem, type TokenMakers } from '@fluidbox/contracts';

/** A stored API token, found by its hash. */
export interface StoredToken {
  readonly name: string;
  readonly org: string;
  readonly role: Principal['role'];
  readonly expiresAt: Date;
  readonly revokedAt: Date | null;
}
export interface TokenStore {
  findByHash(hash: string): Promise<StoredToken | null>;
  create(token: {
    name: string;
    org: string;
    role: Principal['role'];
    hash: string;
    createdAt: Date;
    expiresAt: Date;
    madeBy: TokenMakers;
  }): Promise<void>;
  list(org: string): Promise<
    readonly {
      name: string;
      role: Principal['role'];
      createdAt: Date;
      expiresAt: Date;
      lastUsedAt: Date | null;
      madeBy: TokenMakers;
    }[]
  >;
  /** Who made the token of this name, oldest first and without the bootstrap token; null when there is none, or nobody recorded it. */
  makersOf(org: string, name: string): Promise<TokenMakers>;
  revoke(org: string, name: string, at: Date): Promise<boolean>;
  touch(hash: string, at: Date): void;
}

export type Authenticate = (authorization: string | undefined) => Promise<Principal>;

/** Bearer token → principal. The bootstrap admin token is compared by hash in constant time; every other one is looked up by its hash. */
export function authenticate(deps: {
  tokens: TokenStore;
  adminTokenHash: string;
  hashToken: (token: string) => string;
  sameSecret: (a: string, b: string) => boolean;
  now: () => Date;
}): Authenticate {
  return async (authorization) => {
    const token = /^Bearer ([\x21-\x7e]{1,512})$/i.exec(authorization ?? '')?.[1];
    if (token === undefined)
      throw new Problem('unauthorized', 'authorization: send `Authorization: Bearer <token>` (see `fluidbox token create`)');
    const hash = deps.hashToken(token);
    if (deps.sameSecret(hash, deps.adminTokenHash)) return { name: 'admin', role: 'admin', org: 'default' };
    const stored = await deps.tokens.findByHash(hash);
    const now = deps.now();
    if (stored === null || stored.revokedAt !== null || stored.expiresAt <= now)
      throw new Problem('unauthorized', 'authorization: token unknown, expired or revoked');
    deps.tokens.touch(hash, now);
    return { name: stored.name, role: stored.role, org: stored.org };
  };
}
