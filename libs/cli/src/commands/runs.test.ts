import { leavingLines, whyLine } from './follow-run';
import { workspaceOf } from './runs';

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
