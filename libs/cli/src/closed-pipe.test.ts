import { EventEmitter } from 'node:events';
import { leaveWhenNobodyReads } from './closed-pipe';

const closed = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });

describe('a command whose reader left', () => {
  function started(listens: boolean) {
    const output = new EventEmitter();
    const exits: number[] = [];
    leaveWhenNobodyReads(output, { emit: () => listens, exit: (code) => exits.push(code) });
    return { output, exits };
  }

  it('ends quietly as by SIGPIPE, or as its own listener for Ctrl-C says', () => {
    const alone = started(false);
    alone.output.emit('error', closed);
    expect(alone.exits).toEqual([141]);
    const listening = started(true);
    listening.output.emit('error', closed);
    expect(listening.exits).toEqual([]);
  });

  it('does not hide another fault of its output', () => {
    const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    const said = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    const { output, exits } = started(false);
    output.emit('error', full);
    expect(said).toHaveBeenCalledWith('fluidbox: cannot write what was asked for: no space left\n');
    expect(exits).toEqual([1]);
    said.mockRestore();
  });
});
