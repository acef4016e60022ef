import fs from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { z } from 'zod';
import { registrations } from './commands';

const environmentHelp = `
Environment:
  FLUIDBOX_API_URL        a stack elsewhere, such as http://127.0.0.1:8787 (default: the one of this folder)
  FLUIDBOX_TOKEN          token to speak with (locally default: the admin token of this folder)
  FLUIDBOX_TOKEN_FILE     file that holds it
  FLUIDBOX_HOME           folder of the stack's data (default: .fluidbox)
  FLUIDBOX_LOCAL_SOURCES  for up: absolute folders that run --repo may copy, separated by colons
  FLUIDBOX_WEBHOOK_PRIVATE_HOSTS
                          for up: hosts of this network that a webhook may name, with commas between
  FLUIDBOX_DEBUG          1: show the stack of every error`;

/** Of the repository: its packages are not versioned by themselves. */
function versionOfRepository(): string {
  const manifest: unknown = JSON.parse(fs.readFileSync(path.join(__dirname, '../../../package.json'), 'utf8'));
  return z.object({ version: z.string().default('0.0.0') }).parse(manifest).version;
}

/** The whole command line. Every command lives in a file of its own under `commands/`. */
export function buildProgram(): Command {
  const program = new Command('fluidbox')
    .description('Runs AI agents under control: one gate for every tool call, human approvals, budgets, a verifiable record.')
    .version(versionOfRepository(), '--version', 'print the version')
    // `policy get --version 3` is an option of its own.
    .enablePositionalOptions()
    .addHelpText('after', environmentHelp)
    .showHelpAfterError('see fluidbox --help')
    .exitOverride();
  for (const register of registrations) register(program);
  return program;
}
