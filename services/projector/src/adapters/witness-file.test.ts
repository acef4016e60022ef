import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileWitness } from './witness-file';

const head = (seq: number) => ({ org: 'default', id: 'a', stream: 'run-a', seq, hash: 'h', jws: `j${seq}` });

describe('a file that keeps heads', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'witness-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('gets them in their order, after what is in it', async () => {
    const file = path.join(folder, 'heads.jsonl');
    for (const seqs of [
      [1, 2],
      [3, 4],
    ]) {
      const witness = fileWitness(file, (error) => {
        throw error;
      });
      for (const seq of seqs) witness.tell(head(seq));
      await witness.flushed();
    }
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual([1, 2, 3, 4].map((seq) => ({ stream: 'run-a', seq, hash: 'h', jws: `j${seq}` })));
  });

  it('loses the torn line of a crash before the next one', async () => {
    const file = path.join(folder, 'torn.jsonl');
    for (const [before, kept] of [
      ['{"a":1}\n{"stream":"run-a","se', '{"a":1}\n'],
      ['{"stream', ''],
      ['{"a":1}\n', '{"a":1}\n'],
    ]) {
      writeFileSync(file, before as string);
      const witness = fileWitness(file, (error) => {
        throw error;
      });
      witness.tell(head(1));
      await witness.flushed();
      expect(readFileSync(file, 'utf8')).toBe(`${kept}${JSON.stringify({ stream: 'run-a', seq: 1, hash: 'h', jws: 'j1' })}\n`);
    }
  });

  it('that cannot be written is told of, and later heads are tried', async () => {
    const failures: unknown[] = [];
    const witness = fileWitness(path.join(folder, 'none', 'heads.jsonl'), (error) => failures.push(error));
    witness.tell(head(1));
    witness.tell(head(2));
    await witness.flushed();
    expect(failures).toHaveLength(2);
  });
});
