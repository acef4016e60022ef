import fs from 'node:fs';
import path from 'node:path';
import { Command, Help, type Option } from 'commander';
import { z } from 'zod';
import { registrations } from './commands';
import { exitCodeLines } from './exit-codes';

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

const exitCodesHelp = `
Exit codes:
  ${exitCodeLines().join('\n  ')}`;

/** Of the repository: its packages are not versioned by themselves. */
function versionOfRepository(): string {
  const manifest: unknown = JSON.parse(fs.readFileSync(path.join(__dirname, '../../../package.json'), 'utf8'));
  return z.object({ version: z.string().default('0.0.0') }).parse(manifest).version;
}

/** Commander knows which options a command cannot do without, and leaves it to the first try to say so. */
const describedOption = (option: Option): string => `${new Help().optionDescription(option)}${option.mandatory ? ' (required)' : ''}`;

/** Whoever calls a command wrongly is told so as of any other failure, and where the help of that command is. */
function namedInErrors(command: Command, words: string): void {
  command
    .showHelpAfterError(`see ${words} --help`)
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'fluidbox: ')) });
  for (const below of command.commands) namedInErrors(below, `${words} ${below.name()}`);
}

/** The whole command line. Every command lives in a file of its own under `commands/`. */
export function buildProgram(): Command {
  const program = new Command('fluidbox')
    .description('Runs AI agents under control: one gate for every tool call, human approvals, budgets, a verifiable record.')
    .version(versionOfRepository(), '--version', 'print the version')
    // `policy get --version 3` is an option of its own.
    .enablePositionalOptions()
    .addHelpText('after', `${environmentHelp}\n${exitCodesHelp}`)
    .configureHelp({ optionDescription: describedOption })
    .exitOverride();
  for (const register of registrations) register(program);
  namedInErrors(program, program.name());
  return program;
}
