import { Command } from 'commander';
import { registrations } from './commands';

/** The whole command line. Every command lives in a file of its own under `commands/`. */
export function buildProgram(): Command {
  const program = new Command('fluidbox')
    .description('Runs AI agents under control: one gate for every tool call, human approvals, budgets, a verifiable record.')
    .showHelpAfterError('see fluidbox --help')
    .exitOverride();
  for (const register of registrations) register(program);
  return program;
}
