import { setTimeout as delay } from 'node:timers/promises';
import { type ServiceName, serviceNames } from '@fluidbox/contracts';
import pg from 'pg';
import { typesOf } from '../domain/appenders';

type Grants = Readonly<Record<string, string>>;

/** All but the place in the global order and the transaction: those the database gives, and readers of that order go by them. */
const eventColumns =
  'org_id, stream, category, seq, event_id, type, event_version, generation, occurred_at, actor, body, body_digest, prev_hash, hash';
const appends: Grants = {
  'ledger.events': `select, insert (${eventColumns})`,
  'ledger.content': 'select, insert',
  'ledger.documents': 'select, insert',
  'ledger.run_keys': 'select, insert',
  'ledger.stream_heads': 'select, insert (stream, org_id, category, seq, hash), update (seq, prev_hash, hash, generation, closed)',
  'ledger.checkpoints': 'select',
  'ledger.artifacts': 'select',
};
/** Who spends. A limit is not theirs: that is changed by the facade, on the word of an admin. */
const spends: Grants = { 'ledger.budget_accounts': 'select, insert (scope, period), update (reserved, spent, updated_at)' };
const follows: Grants = { 'ledger.positions': 'select, insert, update', 'ledger.parked': 'select, insert, update, delete' };
const reads: Grants = {
  'ledger.events': 'select',
  'ledger.stream_heads': 'select',
  'ledger.documents': 'select',
  'ledger.checkpoints': 'select',
  'ledger.artifacts': 'select',
};
const everything = 'select, insert, update, delete';

/**
 * What each service may do, and nothing more. Nobody may change or delete an event, and only the appenders of a type write one of it (`policyOf`). `runs` alone
 * destroys keys and sealed content; the scheduler, which holds no key-encryption key, cannot even read wrapped ones.
 */
export const serviceGrants: Readonly<Record<ServiceName, Grants>> = {
  runs: {
    ...appends,
    ...follows,
    ...spends,
    'ledger.run_keys': 'select, insert, update',
    'ledger.content': 'select, insert, delete',
    'runs.*': everything,
  },
  'run-specs': { ...appends, ...follows },
  gate: { ...appends, ...follows },
  approvals: { ...appends, ...follows, 'approvals.*': everything },
  'llm-facade': {
    ...appends,
    ...follows,
    'ledger.budget_accounts': 'select, insert, update',
    'ledger.budget_limits': 'select, insert',
    'ledger.budget_corrections': 'select, insert',
    'ledger.upstreams': everything,
    'ledger.upstream_changes': 'select, insert',
  },
  scheduler: { ...appends, ...follows, 'ledger.run_keys': 'insert', 'ledger.artifacts': 'select, insert', 'scheduler.*': everything },
  delivery: { ...appends, ...follows, 'ledger.run_keys': 'insert', 'delivery.*': everything },
  projector: { ...reads, ...follows, 'ledger.checkpoints': 'select, insert', 'read.*': `${everything}, truncate` },
  'runner-gateway': { ...reads },
  gateway: { ...reads, 'ledger.content': 'select', 'ledger.run_keys': 'select', 'gateway.*': everything, 'read.*': 'select' },
};

/** Bound to one organisation at a time by row-level security. */
const boundToOrganisation: readonly ServiceName[] = ['gateway'];
/** How long a forgotten transaction can hold back the readers of the global order. */
const idleInTransaction = '5s';

export const defaultRolePrefix = 'fluidbox_';
export const serviceRole = (service: ServiceName, prefix = defaultRolePrefix): string => `${prefix}${service.replaceAll('-', '_')}`;

/** Makes or brings up to date one login per service. Answers its name. */
export async function grantServices(
  client: pg.Client,
  passwords: Readonly<Record<ServiceName, string>>,
  prefix: string,
): Promise<Record<ServiceName, string>> {
  const roles = serviceNames.map((name) => [name, serviceRole(name, prefix)] as const);
  for (const [name, role] of roles) {
    const quoted = pg.escapeIdentifier(role);
    await untilUndisturbed(() => client.query(loginStatement(quoted, role, passwords[name])));
    await client.query(grantStatements(name, quoted));
    await addPolicies(client, name, role);
  }
  return Object.fromEntries(roles) as Record<ServiceName, string>;
}

const loginStatement = (role: string, literal: string, password: string): string => `
  do $$ begin
    if not exists (select from pg_roles where rolname = ${pg.escapeLiteral(literal)}) then create role ${role} login; end if;
  end $$;
  alter role ${role} with login nosuperuser nocreatedb nocreaterole noinherit password ${pg.escapeLiteral(password)};
  alter role ${role} set idle_in_transaction_session_timeout = '${idleInTransaction}';`;

function grantStatements(name: ServiceName, role: string): string {
  const grants = serviceGrants[name];
  const schemas = new Set(['ledger', ...Object.keys(grants).map((table) => table.split('.')[0] ?? '')]);
  return [
    ...[...schemas].map((schema) => `grant usage on schema ${schema} to ${role}`),
    `revoke all on all tables in schema ledger from ${role}`,
    `grant select on ledger.schema_migrations to ${role}`,
    ...Object.entries(grants).map(([table, privileges]) =>
      table.endsWith('.*')
        ? `grant ${privileges} on all tables in schema ${table.slice(0, -2)} to ${role}`
        : `grant ${privileges} on ${table} to ${role}`,
    ),
  ].join(';\n');
}

/**
 * An append batch mixes organisations, so writers see and insert all rows; a bound role sees those of the organisation its transaction names. An event is
 * written by the appenders of its type: a service that was taken over cannot speak for another one.
 */
export function policyOf(name: ServiceName, table: string): string {
  if (boundToOrganisation.includes(name)) return "for select to {role} using (org_id = current_setting('fluidbox.org', true))";
  const types = typesOf(name).map((type) => pg.escapeLiteral(type));
  return `to {role} using (true) with check (${table === 'ledger.events' ? `type = any (array[${types.join(', ')}]::text[])` : 'true'})`;
}

/** What a policy says stands in its comment: one that says something else is replaced, in one statement, so that no append falls between. */
async function addPolicies(client: pg.Client, name: ServiceName, roleName: string): Promise<void> {
  const { rows } = await client.query<{ table: string; said: string | null }>(
    `select n.nspname || '.' || c.relname as table, obj_description(p.oid, 'pg_policy') as said
     from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_policy p on p.polrelid = c.oid and p.polname = $1
     where c.relrowsecurity and has_any_column_privilege($1, c.oid, 'select, insert')`,
    [roleName],
  );
  const role = pg.escapeIdentifier(roleName);
  for (const { table, said } of rows) {
    const policy = policyOf(name, table);
    if (said === policy) continue;
    await client.query(
      `drop policy if exists ${role} on ${table}; create policy ${role} on ${table} ${policy.replace('{role}', role)};
       comment on policy ${role} on ${table} is ${pg.escapeLiteral(policy)}`,
    );
  }
}

/** Roles are shared by all databases of a cluster, and the advisory lock is not: another migration may change them at the same moment. */
async function untilUndisturbed(work: () => Promise<unknown>): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      await work();
      return;
    } catch (error) {
      const code = error instanceof pg.DatabaseError ? error.code : undefined;
      const disturbed = code === '23505' || code === '42710' || code === 'XX000' || code === '40001';
      if (!disturbed || tries >= 20) throw error;
      await delay(10 + tries * 10);
    }
  }
}
