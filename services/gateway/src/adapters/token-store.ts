import { Problem, Role } from '@fluidbox/contracts';
import type { SqlClient } from '@fluidbox/event-store';
import type { TokenStore } from '../app/authenticate';

interface Row {
  name: string;
  org_id: string;
  role: string;
  created_at: Date;
  expires_at: Date;
  last_used_at: Date | null;
  revoked_at: Date | null;
  made_by: string[] | null;
}

/** `gateway.tokens`: hashes only. Last use is written at most once a minute per token, so a busy client costs no write per request. */
export function postgresTokenStore(sql: SqlClient, onError: (error: unknown) => void): TokenStore {
  return {
    async findByHash(hash) {
      const { rows } = await sql.query<Row>(
        "select name, org_id, role, expires_at, revoked_at from gateway.tokens where token_hash = decode($1, 'hex')",
        [hash],
      );
      const row = rows[0];
      return row === undefined
        ? null
        : { name: row.name, org: row.org_id, role: Role.parse(row.role), expiresAt: row.expires_at, revokedAt: row.revoked_at };
    },
    async create(token) {
      const { rowCount } = await sql.query(
        `insert into gateway.tokens (name, org_id, role, token_hash, created_at, expires_at, made_by) values ($1, $2, $3, decode($4, 'hex'), $5, $6, $7)
         on conflict (org_id, name) do update set role = excluded.role, token_hash = excluded.token_hash, created_at = excluded.created_at,
           expires_at = excluded.expires_at, last_used_at = null, revoked_at = null, made_by = excluded.made_by
         where tokens.revoked_at is not null or tokens.expires_at <= excluded.created_at`,
        [token.name, token.org, token.role, token.hash, token.createdAt, token.expiresAt, token.madeBy],
      );
      if (rowCount === 0) throw new Problem('conflict', `name: a token named ${token.name} exists; revoke it first or choose another name`);
    },
    async list(org) {
      const { rows } = await sql.query<Row>(
        'select name, role, created_at, expires_at, last_used_at, made_by from gateway.tokens where org_id = $1 and revoked_at is null order by name',
        [org],
      );
      return rows.map((row) => ({
        name: row.name,
        role: Role.parse(row.role),
        createdAt: row.created_at,
        expiresAt: row.expires_at,
        lastUsedAt: row.last_used_at,
        madeBy: row.made_by,
      }));
    },
    async makersOf(org, name) {
      const { rows } = await sql.query<Row>('select made_by from gateway.tokens where org_id = $1 and name = $2', [org, name]);
      return rows[0]?.made_by ?? null;
    },
    async revoke(org, name, at) {
      const { rowCount } = await sql.query(
        'update gateway.tokens set revoked_at = $3 where org_id = $1 and name = $2 and revoked_at is null',
        [org, name, at],
      );
      return rowCount > 0;
    },
    touch(hash, at) {
      sql
        .query(
          "update gateway.tokens set last_used_at = $2::timestamptz where token_hash = decode($1, 'hex') and coalesce(last_used_at, 'epoch') < $2::timestamptz - interval '1 minute'",
          [hash, at],
        )
        .catch(onError);
    },
  };
}
