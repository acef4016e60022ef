import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { config } from '../config';
import { allowsSourceIn } from './local-sources';

describe('allowed sources', () => {
  let base: string;
  beforeEach(() => {
    base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'sources-')));
    fs.mkdirSync(path.join(base, 'real/repo'), { recursive: true });
    fs.symlinkSync(path.join(base, 'real'), path.join(base, 'link'));
  });
  afterEach(() => {
    fs.rmSync(base, { recursive: true });
  });
  const at = (name: string) => path.join(base, name);

  it('count by either name, and need not exist', () => {
    expect(allowsSourceIn([at('link')])(at('real/repo'))).toBe(true);
    expect(allowsSourceIn([at('real')])(at('link/repo'))).toBe(true);
    expect(allowsSourceIn([at('real')])(at('real/missing'))).toBe(true);
    expect(allowsSourceIn([at('real')])(base)).toBe(false);
    expect(allowsSourceIn([])(at('real/repo'))).toBe(false);
  });

  it('are absolute paths, separated by colons', () => {
    expect(config.parse({ FLUIDBOX_LOCAL_SOURCES: '/a: /b:' }).localSources).toEqual(['/a', '/b']);
    expect(config.parse({}).localSources).toEqual([]);
    expect(() => config.parse({ FLUIDBOX_LOCAL_SOURCES: 'a' })).toThrow('must be absolute paths, separated by colons');
  });
});
