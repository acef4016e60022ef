import { Interrupted } from '@fluidbox/embedded';
import { leaveWhenNobodyReads } from './closed-pipe';
import { endingOf } from './ending';
import { say } from './output';
import { buildProgram } from './program';

async function main(): Promise<number> {
  try {
    await buildProgram().parseAsync(process.argv);
    return Number(process.exitCode ?? 0);
  } catch (error) {
    const { message, exitCode } = endingOf(error, process.env);
    if (message !== null) say(message);
    // The work that was interrupted may still wait for something; everything we started has been stopped.
    if (error instanceof Interrupted) process.exit(exitCode);
    return exitCode;
  }
}

leaveWhenNobodyReads(process.stdout, process);
void main().then((code) => {
  process.exitCode = code;
});
