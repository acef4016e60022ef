import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createGroups, groupFolders, removeEmptyGroups, rlimitArgs } from './cgroups';

const limits = { memoryBytes: 1024 ** 3, pids: 100, cpus: 0.5 };
let root: string;
beforeEach(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-cgroup-'));
});
afterEach(() => fs.rmSync(root, { recursive: true, force: true }));

const lay = (files: Readonly<Record<string, string>>): void => {
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    fs.writeFileSync(path.join(root, name), text);
  }
};
const read = (name: string): string => fs.readFileSync(path.join(root, name), 'utf8');

describe('createGroups', () => {
  it('uses v2 where it has the controllers, and passes them down', () => {
    lay({ 'cgroup.controllers': 'cpuset cpu io memory pids', 'cgroup.subtree_control': 'memory' });
    expect(createGroups('run', limits, root)).toEqual({
      kind: 'cgroup2',
      procsFiles: [path.join(root, 'fluidbox/run/cgroup.procs')],
      folders: [path.join(root, 'fluidbox/run')],
    });
    expect(read('cgroup.subtree_control')).toBe('+pids +cpu');
    expect([read('fluidbox/run/memory.max'), read('fluidbox/run/pids.max'), read('fluidbox/run/cpu.max')]).toEqual([
      '1073741824',
      '100',
      '50000 100000',
    ]);
  });

  it('uses v1, with the unified hierarchy beside it for killing', () => {
    for (const hierarchy of ['memory', 'pids', 'cpu', 'freezer', 'unified']) lay({ [`${hierarchy}/cgroup.procs`]: '' });
    const groups = createGroups('run', limits, root);
    expect(groups.kind).toBe('cgroup1');
    expect(groups.procsFiles.map((file) => path.relative(root, file))).toEqual(
      ['memory', 'pids', 'cpu', 'freezer', 'unified'].map((each) => `${each}/fluidbox/run/cgroup.procs`),
    );
    expect([read('memory/fluidbox/run/memory.limit_in_bytes'), read('cpu/fluidbox/run/cpu.cfs_quota_us')]).toEqual(['1073741824', '50000']);
  });

  it('says rlimit only when neither can be had, and then limits processes and memory at least', () => {
    const groups = createGroups('run', limits, root);
    expect(groups).toEqual({ kind: 'rlimit', procsFiles: [], folders: [] });
    expect(rlimitArgs(groups.kind, limits)).toEqual(['--data=1073741824', '--nproc=100']);
    expect(rlimitArgs('cgroup2', limits)).toEqual([]);
  });
});

describe('removeEmptyGroups', () => {
  const id = (digit: number): string => `0198b3a0-0000-7000-8000-00000000000${digit}`;
  const [left, supervised, used, others] = [`d-${id(1)}`, `d-${id(2)}`, `d-${id(3)}`, `d-2-${id(4)}`];
  const names = () => [...new Set(groupFolders(root).map(({ name }) => name))].sort();

  it.each([[['']], [['memory', 'pids', 'cpu', 'freezer', 'unified']]])(
    'removes what is empty, unsupervised and ours, below %j',
    (below) => {
      for (const hierarchy of below)
        for (const name of [left, supervised, used, others, 'd-elsewhere'])
          fs.mkdirSync(path.join(root, hierarchy, 'fluidbox', name), { recursive: true });
      // A group with something in it cannot be removed; a folder that is not empty stands for one.
      for (const hierarchy of below) fs.mkdirSync(path.join(root, hierarchy, 'fluidbox', used, 'inner'));
      removeEmptyGroups('d', (runId) => runId === id(2), root);
      expect(names()).toEqual([supervised, used, others, 'd-elsewhere'].sort());
      removeEmptyGroups('d', () => false, root);
      expect(names()).toEqual([used, others, 'd-elsewhere'].sort());
    },
  );

  it('has nothing to do where there are no groups', () => {
    removeEmptyGroups('d', () => false, root);
    expect(names()).toEqual([]);
  });
});
