import { EmbeddedFailure, Interrupted } from '@fluidbox/embedded';
import { CommanderError } from 'commander';
import { CommandFailure } from './failure';
import { say } from './output';
import { buildProgram } from './program';

/** Exit code for a wrong call of the command itself, as shells have it. */
const USAGE = 2;

async function main(): Promise<number> {
  try {
    await buildProgram().parseAsync(process.argv);
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE;
    if (error instanceof Interrupted) {
      say(error.message);
      // The work that was interrupted may still wait for something; everything we started has been stopped.
      process.exit(error.exitCode);
    }
    if (error instanceof CommandFailure) {
      if (error.message !== '') say(error.message);
      return error.exitCode;
    }
    say(error instanceof EmbeddedFailure ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error));
    return 1;
  }
}

void main().then((code) => {
  process.exitCode = code;
});
