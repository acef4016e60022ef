import { roles } from '@fluidbox/contracts';
import { type Command, Option } from 'commander';
import { call } from './calling';
import { whole } from './option-values';
import { withJson } from './options';
import { createTokenCommand, listTokensCommand, revokeTokenCommand } from './tokens';

export function registerTokens(program: Command): void {
  const token = program.command('token').description('named API tokens');
  withJson(token.command('create'))
    .description('make a token and print it, this once')
    .requiredOption('--name <name>', 'what stands in the record for its holder')
    .addOption(new Option('--role <role>', 'what it may do').choices(roles).makeOptionMandatory())
    .option('--ttl-days <days>', 'lifetime (default 90)', whole)
    .action((options: { json?: boolean; name: string; role: (typeof roles)[number]; ttlDays?: number }) =>
      call(options.json, (api, output) => createTokenCommand(api, options, output)),
    );
  withJson(token.command('list'))
    .description('tokens, their roles and when they expire')
    .action((options: { json?: boolean }) => call(options.json, listTokensCommand));
  withJson(token.command('revoke <name>'))
    .description('end a token now')
    .action((name: string, options: { json?: boolean }) => call(options.json, (api, output) => revokeTokenCommand(api, name, output)));
}
