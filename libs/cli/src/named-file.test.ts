import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { readNamedText, writeNamedFile } from './named-file';

describe('a file that the caller named', () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-named-'));
  afterAll(() => fs.rmSync(dir, { recursive: true }));
  const here = (name: string): string => path.join(dir, name);

  it('is written and read', () => {
    writeNamedFile(here('a'), '--out', 'text');
    expect(readNamedText(here('a'), '--keys')).toBe('text');
  });

  it('that cannot be used is a wrong call, which names the option, the file and the reason', () => {
    const wrong = (message: string) => expect.objectContaining({ message, exitCode: 2 });
    expect(() => readNamedText(here('none'), '--keys')).toThrow(wrong(`--keys ${here('none')}: no such file`));
    expect(() => readNamedText(dir, '--keys')).toThrow(wrong(`--keys ${dir}: is a folder`));
    expect(() => writeNamedFile(here('none/b'), '--out', '')).toThrow(wrong(`--out ${here('none/b')}: no such folder`));
  });
});
