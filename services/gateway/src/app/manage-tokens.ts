import { type Principal, Problem, type Role, type TokenMakers, tokenMakersMax } from '@fluidbox/contracts';
import { bootstrapName, isReservedName, mayGiveRole } from '../domain/authority';
import type { TokenStore } from './authenticate';

const dayMs = 86_400_000;

/** Makes a named token and answers its plain text once; only its hash is stored. */
export async function createToken(
  deps: { tokens: TokenStore; newToken: () => { token: string; hash: string }; now: () => Date },
  principal: Principal,
  body: { name: string; role: Role; ttl_days: number },
): Promise<{ name: string; role: Role; token: string; created_at: string; expires_at: string }> {
  if (!mayGiveRole(principal, body.role)) throw new Problem('forbidden', 'role: only an admin makes tokens');
  if (isReservedName(body.name))
    throw new Problem('conflict', `name: ${body.name} reads like the bootstrap token or the service itself; choose another`);
  const { token, hash } = deps.newToken();
  const createdAt = deps.now();
  const expiresAt = new Date(createdAt.getTime() + body.ttl_days * dayMs);
  const madeBy = await makersOfNext(deps.tokens, principal);
  await deps.tokens.create({ name: body.name, org: principal.org, role: body.role, hash, createdAt, expiresAt, madeBy });
  return { name: body.name, role: body.role, token, created_at: createdAt.toISOString(), expires_at: expiresAt.toISOString() };
}

/** Those behind the maker, and the maker: written into the token itself, so that no later token of the same name changes it. */
async function makersOfNext(tokens: TokenStore, maker: Principal): Promise<TokenMakers> {
  if (maker.name === bootstrapName) return [];
  const behind = await tokens.makersOf(maker.org, maker.name);
  if (behind === null) return null;
  if (behind.length >= tokenMakersMax)
    throw new Problem('conflict', 'token: too many tokens made one by another; use an older admin token');
  return [...behind, maker.name];
}
