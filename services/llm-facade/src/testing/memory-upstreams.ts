import type { StoredUpstream, UpstreamTable } from '../app/ports';
import { placed } from '../domain/upstream-order';

/** The table of upstreams as `adapters/upstream-table.ts` keeps it in Postgres. */
export function memoryUpstreams(): UpstreamTable {
  const lists = new Map<string, readonly StoredUpstream[]>();
  const of = (org: string, dialect: string): readonly StoredUpstream[] => lists.get(`${org} ${dialect}`) ?? [];
  const keep = (org: string, dialect: string, list: readonly Omit<StoredUpstream, 'position'>[]): readonly StoredUpstream[] => {
    const numbered = list.map((upstream, at) => ({ ...upstream, position: at + 1 }));
    lists.set(`${org} ${dialect}`, numbered);
    return numbered;
  };
  return {
    list: async (org, dialect) => of(org, dialect),
    set: async (upstream, position) => {
      const all = [...of(upstream.org, upstream.dialect).filter(({ name }) => name !== upstream.name), upstream];
      const names = of(upstream.org, upstream.dialect).map(({ name }) => name);
      const order = placed(names, upstream.name, position);
      if (order === null) return null;
      return keep(
        upstream.org,
        upstream.dialect,
        order.flatMap((name) => all.filter((one) => one.name === name)),
      );
    },
    remove: async ({ org, dialect, name }) => {
      const before = of(org, dialect);
      keep(
        org,
        dialect,
        before.filter((one) => one.name !== name),
      );
      return before.some((one) => one.name === name);
    },
  };
}
