import { createHash } from 'node:crypto';
import { type ServiceName, serviceNames } from '@fluidbox/contracts';
import { migrate, migrations } from './postgres/migrate';
import { policyOf, serviceGrants, serviceRole } from './postgres/roles';

/** For tests only, where databases are thrown away: one fixed prefix, because roles belong to the whole cluster. */
const prefix = 'fluidbox_test_';
const password = 'test';

/** What `createDatabase({migrated: true})` of @fluidbox/testing copies. The key changes with the schema and its grants. */
export const schemaForTests = {
  key: createHash('sha256')
    .update(
      JSON.stringify([
        migrations().map(({ checksum }) => checksum),
        serviceGrants,
        serviceNames.map((name) => policyOf(name, 'ledger.events')),
      ]),
    )
    .digest('hex')
    .slice(0, 16),
  migrate: async (url: string): Promise<void> => {
    const passwords = Object.fromEntries(serviceNames.map((name) => [name, password])) as Record<ServiceName, string>;
    await migrate({ databaseUrl: url, passwords, rolePrefix: prefix });
  },
};

/** The URL with which a service logs in to a migrated test database. */
export function testServiceUrl(databaseUrl: string, service: ServiceName): string {
  const url = new URL(databaseUrl);
  url.username = serviceRole(service, prefix);
  url.password = password;
  return url.href;
}
