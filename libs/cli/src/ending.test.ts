import { CommanderError } from 'commander';
import { ApiError, Unreachable } from './api/client';
import { endingOf } from './ending';
import { CommandFailure } from './failure';

describe('how a command ends that threw', () => {
  it('says a plain error in its own words, without a stack', () => {
    expect(endingOf(new Error('scheduler is not configured: FLUIDBOX_LOCAL_SOURCES'), {})).toEqual({
      message: 'scheduler is not configured: FLUIDBOX_LOCAL_SOURCES',
      exitCode: 1,
    });
  });

  it('keeps the stack of a bug, and of everything when it is asked for', () => {
    expect(endingOf(new TypeError('x is undefined'), {}).message).toMatch(/\n\s+at /);
    expect(endingOf(new Error('plain'), { FLUIDBOX_DEBUG: '1' }).message).toMatch(/\n\s+at /);
  });

  it('names whom it could not reach, with the code for it', () => {
    const cause = new TypeError('fetch failed', { cause: Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }) });
    const { message, exitCode } = endingOf(new Unreachable('http://127.0.0.1:1', cause), {});
    expect(message).toContain('http://127.0.0.1:1');
    expect(message).toContain('ECONNREFUSED');
    expect(message).not.toContain('\n');
    expect(exitCode).toBe(9);
  });

  it('takes the code of a refusal, and of a failure that has one', () => {
    expect(endingOf(new ApiError(404, 'not_found', 'no such run'), {})).toEqual({ message: 'no such run (not_found)', exitCode: 4 });
    expect(endingOf(new ApiError(422, 'edit_denied', 'curl'), {}).exitCode).toBe(5);
    expect(endingOf(new ApiError(422, 'unprocessable', '/to'), {}).exitCode).toBe(2);
    expect(endingOf(new CommandFailure('', 6), {})).toEqual({ message: null, exitCode: 6 });
  });

  it('leaves help and usage errors to the parser that said them', () => {
    expect(endingOf(new CommanderError(1, 'commander.unknownCommand', 'x'), {})).toEqual({ message: null, exitCode: 2 });
    expect(endingOf(new CommanderError(0, 'commander.help', 'x'), {})).toEqual({ message: null, exitCode: 0 });
  });
});
