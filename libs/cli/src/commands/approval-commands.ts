import type { Command } from 'commander';
import { exitCodes } from '../exit-codes';
import { CommandFailure } from '../failure';
import { approvalsCommand, decideCommand } from './approvals';
import { call } from './calling';
import { jsonObject } from './option-values';
import { withJson } from './options';

const example = `
Example:
  npm run -s fluidbox -- approve apr_… --edit '{"command":"git commit -m fix"}' --comment "shorter message"`;

export function registerApprovals(program: Command): void {
  withJson(program.command('approvals'))
    .description('what waits for a person')
    .action((options: { json?: boolean }) => call(options.json, approvalsCommand));
  withJson(program.command('approve <approval>'))
    .description('let a waiting call run')
    .option('--session', 'and the same kind of call for the rest of this run')
    .option('--edit <json>', 'run this input instead; the gate judges it again', jsonObject)
    .option('--comment <text>', 'why')
    .addHelpText('after', example)
    .action((approval: string, options: { json?: boolean; session?: boolean; edit?: Record<string, unknown>; comment?: string }) => {
      const comment = options.comment === undefined ? {} : { comment: options.comment };
      if (options.edit !== undefined && options.session === true)
        throw new CommandFailure('--edit approves one call; it does not go with --session', exitCodes.usage);
      const body =
        options.edit === undefined
          ? { decision: options.session === true ? ('approve_session' as const) : ('approve' as const), ...comment }
          : { decision: 'edit' as const, input: options.edit, ...comment };
      return call(options.json, (api, output) => decideCommand(api, approval, body, output));
    });
  withJson(program.command('deny <approval>'))
    .description('refuse a waiting call')
    .option('--comment <text>', 'why')
    .action((approval: string, options: { json?: boolean; comment?: string }) =>
      call(options.json, (api, output) =>
        decideCommand(api, approval, { decision: 'deny', ...(options.comment === undefined ? {} : { comment: options.comment }) }, output),
      ),
    );
}
