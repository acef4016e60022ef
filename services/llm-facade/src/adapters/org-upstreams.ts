import type { LookupFunction } from 'node:net';
import type { Clock } from '@fluidbox/service-kit';
import {
  type FacadeLog,
  type NamedUpstream,
  type Organisations,
  type StoredUpstream,
  type Upstream,
  UpstreamFailed,
  type Upstreams,
} from '../app/ports';
import type { DialectId, Provider } from '../domain/dialect';
import { dialects } from '../domain/dialects';
import { ModelRequestRefused, refusals } from '../domain/refusal';
import { isNamedUpstream, refuseUpstreamUrl } from '../domain/upstream-url';
import { publicLookup } from './public-lookup';
import { createUpstream, type UpstreamOptions } from './upstream';

/** How long a removed key may still be used. */
const keptMs = 3_000;
const keptMax = 1_000;

/** What this deployment brings itself. */
export interface OwnUpstream {
  readonly upstream: Upstream;
  readonly key: string;
}
export interface OrgUpstreamsOptions {
  readonly own: ReadonlyMap<DialectId, OwnUpstream>;
  readonly organisations: Organisations;
  readonly clock: Clock;
  readonly log: FacadeLog;
  /** Of names that the configuration does not name. */
  readonly lookup?: LookupFunction;
  readonly timeouts?: Pick<UpstreamOptions, 'firstByteMs' | 'idleMs'> | undefined;
}

interface Kept {
  until: number;
  /** What the list was made of: while that is the same, so are its connections. */
  readonly print: string;
  readonly list: readonly NamedUpstream[];
}

/**
 * The upstreams of an organisation, believed for a few seconds: a request costs a look into a map, and one of them every few seconds a statement. A list that
 * cannot be read or opened refuses the request: the deployment's own key is no replacement for that of an organisation.
 */
export function orgUpstreams({ own, organisations, clock, log, timeouts, lookup = publicLookup() }: OrgUpstreamsOptions): Upstreams {
  const kept = new Map<string, Kept>();
  const reading = new Map<string, Promise<readonly NamedUpstream[]>>();
  let failures = 0;

  const deploymentOf = (dialect: DialectId): readonly NamedUpstream[] => {
    const upstream = own.get(dialect)?.upstream;
    return upstream === undefined ? [] : [{ name: null, upstream }];
  };
  const build = (dialect: DialectId, rows: readonly StoredUpstream[]): readonly NamedUpstream[] => {
    if (rows.length === 0) return deploymentOf(dialect);
    const provider = providerOf(dialect);
    const opened = rows.map((row) => ({ ...row, key: openKey(row) }));
    const ownKey = own.get(dialect)?.key;
    // Whichever answers, no key of the list may come back: they may be of one provider, which knows them all.
    const keys = [...opened.map(({ key }) => key), ...(ownKey === undefined ? [] : [ownKey])];
    return opened.map(({ name, baseUrl, key }) => {
      // The configuration may have changed since it was set.
      const refusal = refuseUpstreamUrl(baseUrl, organisations.privateHosts);
      if (refusal !== null) return { name, upstream: unusable(refusal) };
      const isNamed = isNamedUpstream(new URL(baseUrl), organisations.privateHosts);
      const options = { baseUrl, provider, key, hiddenKeys: keys, ...timeouts, ...(isNamed ? {} : { lookup }) };
      return { name, upstream: createUpstream(options) };
    });
  };
  const openKey = (row: StoredUpstream): string => {
    try {
      return organisations.keys.open(row, row.sealedKey);
    } catch (error) {
      log.error({ err: error, upstream: row.name }, 'the key of an upstream does not open; FLUIDBOX_KEK_FILE is not what sealed it');
      throw new ModelRequestRefused(refusals.sealedKey(row.name));
    }
  };
  const read = async (key: string, org: string, dialect: DialectId): Promise<readonly NamedUpstream[]> => {
    const asked = clock.now().getTime();
    const rows = await organisations.table.list(org, dialect).catch((error: unknown) => {
      log.error({ err: error }, 'the upstreams of an organisation cannot be read; its requests are refused');
      throw new ModelRequestRefused(refusals.unavailable('the upstreams of this organisation cannot be read; try again'));
    });
    const print = JSON.stringify(rows.map(({ name, baseUrl, sealedKey }) => [name, baseUrl, sealedKey.toString('base64')]));
    const before = kept.get(key);
    if (before?.print === print) {
      before.until = asked + keptMs;
      return before.list;
    }
    // What cannot be opened any more is not used any more either.
    kept.delete(key);
    retire(before);
    const list = build(dialect, rows);
    const [oldest] = kept.keys();
    if (kept.size >= keptMax && oldest !== undefined) {
      retire(kept.get(oldest));
      kept.delete(oldest);
    }
    kept.set(key, { until: asked + keptMs, print, list });
    return list;
  };
  const retire = (list: Kept | undefined): void => {
    for (const { name, upstream } of list?.list ?? []) if (name !== null) upstream.retire();
  };

  return {
    of(org, dialect) {
      const key = `${dialect} ${org}`;
      const known = kept.get(key);
      if (known !== undefined && clock.now().getTime() < known.until) return known.list;
      let promise = reading.get(key);
      if (promise === undefined) {
        promise = read(key, org, dialect).finally(() => reading.delete(key));
        reading.set(key, promise);
      }
      return promise;
    },
    countFailure() {
      failures += 1;
      return failures;
    },
    async close() {
      const lists = [...kept.values()].flatMap(({ list }) => list.filter(({ name }) => name !== null));
      await Promise.all([...lists, ...own.values()].map(({ upstream }) => upstream.close()));
    },
  };
}

function providerOf(id: DialectId): Provider {
  const dialect = dialects.find((one) => one.id === id);
  if (dialect === undefined) throw new Error(`there is no dialect ${id}`);
  return dialect.provider;
}

const unusable = (reason: string): Upstream => ({
  send: () => Promise.reject(new UpstreamFailed(false, `its URL ${reason}`, { cause: null })),
  retire: () => undefined,
  close: async () => undefined,
});
