import { type UpstreamDialect, upstreamDialects, upstreamsMax } from '@fluidbox/contracts';
import { Argument, type Command } from 'commander';
import { call } from './calling';
import { wholeUpTo } from './option-values';
import { withJson } from './options';
import { listUpstreamsCommand, removeUpstreamCommand, setUpstreamCommand } from './upstreams';

interface Json {
  json?: boolean;
}
const dialect = (): Argument => new Argument('<dialect>', 'the wire').choices(upstreamDialects);

export function registerUpstreams(program: Command): void {
  const upstream = program
    .command('upstream')
    .description("the organisation's own model upstreams, asked in order instead of the deployment's");
  withJson(upstream.command('set'))
    .description('add one, or replace its URL and key')
    .addArgument(dialect())
    .requiredOption('--name <name>', 'how events and logs call it')
    .requiredOption('--url <url>', 'its base URL, without /v1')
    .requiredOption('--key-file <file>', 'file with its API key; - is standard input')
    .option('--position <number>', 'its place in the order (default: where it stands, or the last)', wholeUpTo(upstreamsMax))
    .action((wire: UpstreamDialect, { json, ...options }: Json & Parameters<typeof setUpstreamCommand>[2]) =>
      call(json, (api, output) => setUpstreamCommand(api, wire, options, output)),
    );
  withJson(upstream.command('list'))
    .description('in the order in which they are asked; keys are never shown')
    .addArgument(dialect())
    .action((wire: UpstreamDialect, { json }: Json) => call(json, (api, output) => listUpstreamsCommand(api, wire, output)));
  withJson(upstream.command('remove'))
    .description('ask it no more and forget its key')
    .addArgument(dialect())
    .requiredOption('--name <name>', 'which one')
    .action((wire: UpstreamDialect, { json, name }: Json & { name: string }) =>
      call(json, (api, output) => removeUpstreamCommand(api, wire, name, output)),
    );
}
