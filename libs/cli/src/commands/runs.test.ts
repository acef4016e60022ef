import { type ApiClient, ApiError } from '../api/client';
import type { Output } from '../output';
import { paintFor } from '../paint';
import { leavingLines, whyLine } from './follow-run';
import { diffCommand, watchCommand, workspaceOf } from './runs';

describe('the workspace of a run', () => {
  it('is a folder or a repository', () => {
    expect(workspaceOf({ repo: '/a' })).toEqual({ kind: 'local_copy', path: '/a' });
    expect(workspaceOf({ git: 'https://h.example/r', ref: 'main' })).toMatchObject({ kind: 'git_repository', ref: 'main' });
    expect(workspaceOf({})).toBeUndefined();
  });

  it('is never chosen silently from options that contradict each other', () => {
    expect(() => workspaceOf({ repo: '/a', git: 'https://h.example/r' })).toThrow(expect.objectContaining({ exitCode: 2 }));
    expect(() => workspaceOf({ repo: '/a', ref: 'main' })).toThrow(expect.objectContaining({ exitCode: 2 }));
    expect(() => workspaceOf({ ref: 'main' })).toThrow(expect.objectContaining({ exitCode: 2 }));
  });
});

describe('the last line of a run that did not complete', () => {
  it('says why', () => {
    expect(whyLine({ status: 'failed', reason: 'workspace_failed', summary: 'no such folder' })).toBe(
      'failed: workspace_failed · no such folder',
    );
    expect(whyLine({ status: 'cancelled', reason: 'cancel_requested', summary: null })).toBe('cancelled: cancel_requested');
  });
});

describe('whoever leaves a run', () => {
  it('is told that it goes on only where its stack stays', () => {
    expect(leavingLines('r1', true).join('\n')).toMatch(/goes on: npm run -s fluidbox -- watch r1[\s\S]*cancel r1/);
    expect(leavingLines('r1', false).join('\n')).not.toContain('goes on');
  });
});

function capturing(): { output: Output; out: string[]; err: string[] } {
  const out: string[] = [];
  const err: string[] = [];
  return {
    out,
    err,
    output: { json: false, paint: paintFor({}, {}), out: (text) => void out.push(text), err: (text) => void err.push(text) },
  };
}

describe('the diff of a run', () => {
  const apiWith = (bytes: number) =>
    ({
      artifacts: async () => ({ data: [{ id: 'art_1', kind: 'diff', bytes }] }),
      artifact: async () => Buffer.from('diff --git a b\n'),
    }) as unknown as ApiClient;
  it('is printed as it is', async () => {
    const written: string[] = [];
    expect(await diffCommand(apiWith(15), 'r1', capturing().output, (bytes) => void written.push(String(bytes)))).toBe(0);
    expect(written).toEqual(['diff --git a b\n']);
  });
  it('of one that changed nothing is nothing, and says so', async () => {
    const written: string[] = [];
    const { output, err } = capturing();
    expect(await diffCommand(apiWith(0), 'r1', output, (bytes) => void written.push(String(bytes)))).toBe(0);
    expect([written, err]).toEqual([[], ['this run changed nothing']]);
  });
});

it('watch names the option of its caller, not the header that it sends', async () => {
  const api = {
    spec: async () => ({ policy: { name: 'default', document: { mode: 'enforce' } } }),
    // biome-ignore lint/correctness/useYield: the server refuses before there is an event.
    async *watch() {
      throw new ApiError(400, 'invalid_request', 'Last-Event-ID: the run has 20 events');
    },
  } as unknown as ApiClient;
  await expect(watchCommand({ api, stackStays: true }, 'r1', { after: 60 }, capturing().output)).rejects.toMatchObject({
    message: '--after 60: the run has 20 events',
    exitCode: 2,
  });
});
