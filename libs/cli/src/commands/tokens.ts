import type { Role } from '@fluidbox/contracts';
import type { ApiClient } from '../api/client';
import { exitCodes } from '../exit-codes';
import { type Output, table } from '../output';

export async function createTokenCommand(
  api: ApiClient,
  options: { name: string; role: Role; ttlDays?: number },
  output: Output,
): Promise<number> {
  const made = await api.createToken({
    name: options.name,
    role: options.role,
    ...(options.ttlDays === undefined ? {} : { ttl_days: options.ttlDays }),
  });
  output.out(output.json ? JSON.stringify(made) : made.token);
  output.err(`token ${made.name} (${made.role}) until ${made.expires_at}; it is shown this once`);
  return exitCodes.ok;
}

export async function listTokensCommand(api: ApiClient, output: Output): Promise<number> {
  const { data } = await api.tokens();
  if (output.json) output.out(JSON.stringify(data));
  else
    output.out(
      table([
        ['NAME', 'ROLE', 'EXPIRES', 'LAST USED', 'MADE BY'],
        ...data.map((token) => [token.name, token.role, token.expires_at, token.last_used_at ?? 'never', token.made_by ?? 'unknown']),
      ]),
    );
  return exitCodes.ok;
}

export async function revokeTokenCommand(api: ApiClient, name: string, output: Output): Promise<number> {
  await api.revokeToken(name);
  output.out(output.json ? JSON.stringify({ revoked: name }) : `revoked ${name}`);
  return exitCodes.ok;
}
