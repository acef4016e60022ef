import { exitCodes, RunnerExit } from './exit-codes';
import { runForeign } from './foreign-runner';

runForeign(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(error instanceof RunnerExit ? error.exitCode : exitCodes.crashed);
});
