import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { homeLayout, secretFiles } from '@fluidbox/embedded';
import { endingOf } from '../ending';
import { buildProgram } from '../program';

const vectors = path.join(__dirname, '../../../verifier/vectors');
const bundle = path.join(vectors, 'bundle.jsonl');
const keys = path.join(vectors, 'keys.json');
const text = fs.readFileSync(bundle, 'utf8');

describe('verify', () => {
  let home: string;
  const file = (name: string, content: string): string => {
    fs.writeFileSync(path.join(home, name), content);
    return path.join(home, name);
  };
  beforeEach(() => {
    home = fs.mkdtempSync(path.join(os.tmpdir(), 'verify-'));
    process.env.FLUIDBOX_HOME = home;
  });
  afterEach(() => {
    delete process.env.FLUIDBOX_HOME;
    fs.rmSync(home, { recursive: true, force: true });
  });

  /** The command as a person gives it. */
  async function run(...args: string[]): Promise<{ code: number; said: string }> {
    const write = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    try {
      await buildProgram().parseAsync(['node', 'fluidbox', ...args]);
      return { code: 0, said: write.mock.calls.map(([chunk]) => String(chunk)).join('') };
    } catch (error) {
      const { exitCode, message } = endingOf(error, {});
      return { code: exitCode, said: write.mock.calls.map(([chunk]) => String(chunk)).join('') + (message ?? '') };
    } finally {
      write.mockRestore();
    }
  }

  it('answers 0 for a whole record signed by a trusted key, 1 with the event for a changed one', async () => {
    const good = await run('verify', bundle, '--keys', keys);
    expect(good).toEqual({ code: 0, said: expect.stringMatching(/^verified {2}run 0198b3a0.*6 events, signed to its end/) });
    const changed = file('changed.jsonl', text.replace('"verdict":"deny"', '"verdict":"allow"'));
    expect(await run('verify', changed, '--keys', keys)).toEqual({
      code: 1,
      said: expect.stringMatching(/^TAMPERED .*: event 2 is not what .*\(line 7\)/),
    });
    // A changed record is one whomever one trusts.
    expect((await run('verify', changed)).code).toBe(1);
  });

  it('shows what somebody wrote into a bundle to steer the terminal', async () => {
    const steering = file('steering.jsonl', text.replace('"stream":"run-0198b3a0', '"stream":"run-\\u001b[2Jx'));
    const { code, said } = await run('verify', steering, '--keys', keys);
    expect(code).toBe(1);
    expect(said).toContain('\\u001b[2J');
    expect(said).not.toContain('\u001b');
  });

  it('says one short line about what is wrong, whatever lines stand in the file', async () => {
    const verdict = `${'\\n'.repeat(5_000)}verified  run 0198b3a0: 6 events, signed to its end`;
    for (const [from, to] of [
      [/"digest":"sha256:[0-9a-f]+"/, `"digest":"${verdict}"`],
      [/"seq":1\}/, `"seq":"${verdict}"}`],
    ] as const) {
      const { code, said } = await run('verify', file('forging.jsonl', text.replace(from, to)), '--keys', keys);
      expect(code).toBe(1);
      expect(said.trim().split('\n')).toEqual([expect.stringMatching(/^TAMPERED .{1,420}$/)]);
    }
  });

  it('answers 3 when nobody said whom to trust, and takes the keys of the deployment when there is one', async () => {
    expect(await run('verify', bundle)).toEqual({ code: 3, said: expect.stringMatching(/^self-consistent, signer not pinned/) });
    const own = secretFiles(homeLayout(home).secrets).ledgerPublicKeys;
    fs.mkdirSync(path.dirname(own), { recursive: true });
    fs.copyFileSync(keys, own);
    expect((await run('verify', bundle)).code).toBe(0);
  });

  it('pins signers by thumbprint, all that signed', async () => {
    const kids = [...text.matchAll(/"kid":"([^"]+)"/g)].map(([, kid]) => kid ?? '');
    expect((await run('verify', bundle, '--signer', kids[0] ?? '', '--signer', kids[1] ?? '')).code).toBe(0);
    expect((await run('verify', bundle, '--signer', kids[0] ?? '')).code).toBe(1);
    expect((await run('verify', bundle, '--signer', kids[0] ?? '', '--keys', keys)).code).toBe(2);
  });

  it('answers 5 for a record that was cut back, unless a part is enough', async () => {
    const kid = text.split('\n').filter((line) => line.startsWith('{"checkpoint"'));
    const first = JSON.parse(
      Buffer.from((JSON.parse(kid[0] ?? '') as { jws: string }).jws.split('.')[0] ?? '', 'base64url').toString(),
    ).kid;
    const cut = text
      .split('\n')
      .filter((line) => !/"seq":[4-6]\b/.test(line) && (!line.startsWith('{"key"') || line.includes(first)))
      .map((line) => (line.startsWith('{"end"') ? '{"end":{"checkpoints":1,"documents":2,"events":3,"keys":1}}' : line));
    const partial = file('cut.jsonl', cut.join('\n'));
    expect(await run('verify', partial, '--keys', keys)).toEqual({
      code: 5,
      said: expect.stringMatching(/^NOT COMPLETE .*signed to event 3/),
    });
    expect((await run('verify', partial, '--keys', keys, '--partial')).code).toBe(0);
    expect((await run('verify', partial, '--partial')).code).toBe(3);
    // A file that only the unsigned rest names: whoever cut the record could have written that.
    const unsigned = text
      .split('\n')
      .filter((line) => !(line.startsWith('{"checkpoint"') && line !== kid[0]) && (!line.startsWith('{"key"') || line.includes(first)))
      .map((line) => (line.startsWith('{"end"') ? '{"end":{"checkpoints":1,"documents":2,"events":6,"keys":1}}' : line));
    const args = ['verify', file('unsigned.jsonl', unsigned.join('\n')), '--keys', keys, '--partial'];
    expect((await run(...args)).code).toBe(0);
    expect(await run(...args, '--artifact', file('diff', 'diff'))).toEqual({
      code: 1,
      said: expect.stringMatching(/^NOT AN ARTIFACT .*the run signed no such bytes\n[\s\S]*\(unsigned\)/),
    });
  });

  it('sends whoever has a record without any signature back for one', async () => {
    const unsigned = text
      .split('\n')
      .filter((line) => !/^\{"(checkpoint|key)"/.test(line))
      .map((line) => (line.startsWith('{"end"') ? '{"end":{"checkpoints":0,"documents":2,"events":6,"keys":0}}' : line))
      .join('\n');
    expect(await run('verify', file('unsigned.jsonl', unsigned), '--keys', keys, '--partial')).toEqual({
      code: 5,
      said: expect.stringContaining('(export it again when the run has ended)'),
    });
  });

  it('tells a file that holds no head from a record that a head contradicts', async () => {
    const verify = (heads: string) => run('verify', bundle, '--keys', keys, '--witness', file('heads', heads));
    expect(await verify('not a head\n')).toMatchObject({ code: 2, said: expect.stringContaining('holds no head') });
    const heads = [...text.matchAll(/^\{"checkpoint":(.*),"jws":"([^"]+)"\}$/gm)]
      .map(([, checkpoint = '', jws = '']) => jws.replace('..', `.${Buffer.from(checkpoint).toString('base64url')}.`))
      .join('\n');
    expect(heads).toContain('.');
    expect((await verify(`${heads}\n`)).code).toBe(0);
    expect((await verify(`${heads}\nnot a head\n`)).code).toBe(1);
    expect((await verify('')).code).toBe(0);
  });

  it('compares a file with the artifacts of the run', async () => {
    expect((await run('verify', bundle, '--keys', keys, '--artifact', file('diff', 'diff'))).code).toBe(0);
    expect(await run('verify', bundle, '--keys', keys, '--artifact', file('other', 'other'))).toMatchObject({ code: 1 });
  });

  it('names a file that is not there or no key set, and prints JSON for machines', async () => {
    expect(await run('verify', path.join(home, 'none'))).toEqual({ code: 2, said: expect.stringContaining('none') });
    expect(await run('verify', bundle, '--keys', file('x', '{}'))).toEqual({
      code: 2,
      said: expect.stringContaining('not a set of public keys'),
    });
    expect(JSON.parse((await run('verify', bundle, '--keys', keys, '--json')).said)).toMatchObject({ verdict: 'verified', signedTo: 6 });
  });

  it('is told what to erase before anything is asked', async () => {
    expect(await run('erase', 'run')).toEqual({ code: 2, said: expect.stringContaining('--content') });
  });

  it('keys rotate adds a key and keeps the old ones', async () => {
    expect(await run('keys', 'rotate')).toEqual({ code: 1, said: expect.stringContaining('start the stack once') });
    const files = secretFiles(homeLayout(home).secrets);
    fs.mkdirSync(files.dir, { recursive: true });
    fs.copyFileSync(keys, files.ledgerPublicKeys);
    const rotated = (await run('keys', 'rotate')).said.trim();
    const listed = (await run('keys', 'list')).said.trim().split('\n');
    expect(listed).toHaveLength(3);
    expect(listed[2]).toBe(rotated);
    expect((await run('verify', bundle)).code).toBe(0);
    const point = execFileSync('openssl', ['pkey', '-in', files.ledgerKey, '-pubout', '-outform', 'DER'])
      .subarray(-32)
      .toString('base64url');
    expect(fs.readFileSync(files.ledgerPublicKeys, 'utf8')).toContain(point);
    expect(fs.statSync(files.ledgerKey).mode & 0o777).toBe(0o600);
  });
});
