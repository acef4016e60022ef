import { EmbeddedFailure, Interrupted } from '@fluidbox/embedded';
import { CommanderError } from 'commander';
import { ApiError } from './api/client';
import { exitCodeOfStatus, exitCodes } from './exit-codes';
import { CommandFailure } from './failure';

/** How a command that threw ends: what is said, if anything, and the exit code. */
export interface Ending {
  readonly message: string | null;
  readonly exitCode: number;
}

/** Thrown by the language and by failed assertions, never on purpose: the place is what one needs to know. */
const isBug = (error: Error): boolean =>
  error instanceof TypeError ||
  error instanceof RangeError ||
  error instanceof ReferenceError ||
  error instanceof SyntaxError ||
  error.name === 'AssertionError';

/** A stack says where, which helps whoever mends a bug and nobody else. `FLUIDBOX_DEBUG=1` shows it for every error. */
export function endingOf(error: unknown, environment: Readonly<Record<string, string | undefined>>): Ending {
  // Commander has said what was wrong itself.
  if (error instanceof CommanderError) return { message: null, exitCode: error.exitCode === 0 ? exitCodes.ok : exitCodes.usage };
  const { message, exitCode } = plainEnding(error);
  const debug = (environment.FLUIDBOX_DEBUG ?? '') !== '' && error instanceof Error && message !== null;
  return { message: debug ? (error.stack ?? message) : message, exitCode };
}

function plainEnding(error: unknown): Ending {
  if (error instanceof CommandFailure) return { message: error.message === '' ? null : error.message, exitCode: error.exitCode };
  // A well-formed edit that the gate denies is no usage error: the call goes on waiting.
  if (error instanceof ApiError)
    return {
      message: `${error.message} (${error.code})`,
      exitCode: error.code === 'edit_denied' ? exitCodes.refused : exitCodeOfStatus(error.status),
    };
  if (error instanceof Interrupted) return { message: error.message, exitCode: error.exitCode };
  if (error instanceof EmbeddedFailure || !(error instanceof Error)) {
    return { message: error instanceof Error ? error.message : String(error), exitCode: exitCodes.run_failed };
  }
  return { message: isBug(error) || error.message === '' ? (error.stack ?? error.message) : error.message, exitCode: exitCodes.run_failed };
}
