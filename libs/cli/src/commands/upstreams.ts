import type { UpstreamDialect, UpstreamView } from '@fluidbox/contracts';
import type { ApiClient } from '../api/client';
import { exitCodes } from '../exit-codes';
import { readNamedText } from '../named-file';
import { type Output, table } from '../output';

const shown = (upstreams: readonly UpstreamView[]): string =>
  upstreams.length === 0
    ? 'none: the upstream of the deployment is asked'
    : table([
        ['ORDER', 'NAME', 'URL', 'SET BY', 'SET AT'],
        ...upstreams.map(({ position, name, base_url, set_by, set_at }) => [String(position), name, base_url, set_by, set_at]),
      ]);

/** The key comes from a file, never from the command line, where every process of the machine could read it. */
export async function setUpstreamCommand(
  api: ApiClient,
  dialect: UpstreamDialect,
  options: { name: string; url: string; keyFile: string; position?: number },
  output: Output,
): Promise<number> {
  const key = readNamedText(options.keyFile, '--key-file').trim();
  const { data } = await api.setUpstream(dialect, options.name, {
    base_url: options.url,
    key,
    ...(options.position === undefined ? {} : { position: options.position }),
  });
  output.out(output.json ? JSON.stringify(data) : shown(data));
  return exitCodes.ok;
}

export async function listUpstreamsCommand(api: ApiClient, dialect: UpstreamDialect, output: Output): Promise<number> {
  const { data } = await api.upstreams(dialect);
  output.out(output.json ? JSON.stringify(data) : shown(data));
  return exitCodes.ok;
}

export async function removeUpstreamCommand(api: ApiClient, dialect: UpstreamDialect, name: string, output: Output): Promise<number> {
  await api.removeUpstream(dialect, name);
  output.out(output.json ? JSON.stringify({ removed: name }) : `${name} is asked no more; its key is in use for a few seconds at most`);
  return exitCodes.ok;
}
