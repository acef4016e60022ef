import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { verifyChain } from '@fluidbox/event-store';
import { canonicalJson } from '@fluidbox/redaction';
import { generateSigningKey, type SigningKey } from '@fluidbox/seal';
import fc from 'fast-check';
import { sampleBundle, sampleEvents } from './fixtures/sample-bundle';
import { canonical, keySetOf, type Report, type Trust, thumbprint, verifyBundle } from './verify-bundle';

const vectors = path.join(__dirname, '../vectors');
const rfc = JSON.parse(readFileSync(path.join(vectors, 'rfc8785.json'), 'utf8')) as {
  texts: { name: string; input: string; output: string }[];
  numbers: [string, string][];
};

const key = generateSigningKey();
const otherKey = generateSigningKey();
const trustIn = (...keys: SigningKey[]): Trust => ({
  keys: keySetOf(JSON.stringify({ keys: keys.flatMap((each) => each.publicKeys.keys) })),
});
const trusted = trustIn(key);
const last = sampleEvents().length;
const whole = (): Promise<Buffer> =>
  sampleBundle({
    checkpoints: [
      { seq: 3, key },
      { seq: last, key },
    ],
  });
const linesOf = (bundle: Buffer): string[] => bundle.toString('utf8').split('\n').slice(0, -1);
const fileOf = (lines: readonly string[]): Buffer => Buffer.from(lines.map((line) => `${line}\n`).join(''));
const isEvent = (line: string): boolean => line.startsWith('{"event"');
/** The end of a file counts its lines; who changes a bundle can count as well. */
const counted = (lines: readonly string[]): string[] => {
  const count = (start: string): number => lines.filter((line) => line.startsWith(start)).length;
  const end = { checkpoints: count('{"checkpoint"'), documents: count('{"digest"'), events: count('{"event"'), keys: count('{"key"') };
  return [...lines.slice(0, -1), canonicalJson({ end })];
};
const outcome = ({ verdict, finding }: Report) => ({ verdict, seq: finding?.seq ?? null });

describe('canonical JSON', () => {
  it.each(rfc.texts)('writes the vector "$name" of RFC 8785', ({ input, output }) => {
    expect(canonical(JSON.parse(input))).toBe(output);
    expect(canonicalJson(JSON.parse(input))).toBe(output);
  });
  it.each(rfc.numbers)('writes the number with bits %s as %s', (bits, text) => {
    expect(canonical(Buffer.from(bits, 'hex').readDoubleBE())).toBe(text);
  });
  it('is what the ledger writes', () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        (value) => canonical(JSON.parse(JSON.stringify(value))) === canonicalJson(JSON.parse(JSON.stringify(value))),
      ),
    );
  });
});

it('is one file that needs node:crypto and nothing else', () => {
  const source = readFileSync(path.join(__dirname, 'verify-bundle.ts'), 'utf8');
  expect([...source.matchAll(/\bfrom '([^']+)'|\brequire\(|\bimport\(/g)].map((match) => match[1])).toEqual(['node:crypto']);
});

describe('a bundle', () => {
  it('of a finished run is verified, with what it left', async () => {
    const report = verifyBundle(await whole(), trusted);
    expect(report).toMatchObject({ verdict: 'verified', finding: null, events: last, signedTo: last, complete: true, signers: [key.kid] });
    expect(report.artifacts).toEqual([expect.objectContaining({ kind: 'diff', name: 'changes.diff' })]);
  });

  it('is chained as the ledger chains', async () => {
    const rows = linesOf(await whole())
      .filter(isEvent)
      .map((line) => JSON.parse(line) as { event: unknown; hash: string; seq: number })
      .map(({ event, hash, seq }) => ({ seq, hash, body: canonicalJson(event) }));
    expect(verifyChain(rows)).toEqual({ ok: true, seq: last, hash: rows.at(-1)?.hash });
  });

  it('is as good as the key that one trusts, by file or by thumbprint', async () => {
    const bundle = await whole();
    expect(verifyBundle(bundle, { signers: [key.kid] }).verdict).toBe('verified');
    expect(outcome(verifyBundle(bundle, { signers: [otherKey.kid] }))).toEqual({ verdict: 'tampered', seq: null });
    expect(outcome(verifyBundle(bundle, trustIn(otherKey)))).toEqual({ verdict: 'tampered', seq: null });
    expect(verifyBundle(bundle, null)).toMatchObject({ verdict: 'unpinned', complete: true });
  });

  it('signed before and after a rotation is verified by the published set', async () => {
    const bundle = await sampleBundle({
      checkpoints: [
        { seq: 3, key },
        { seq: last, key: otherKey },
      ],
    });
    expect(verifyBundle(bundle, trustIn(key, otherKey))).toMatchObject({ verdict: 'verified', signers: [key.kid, otherKey.kid] });
    expect(verifyBundle(bundle, trustIn(otherKey)).verdict).toBe('tampered');
  });

  it('of a live run is intact as far as it is signed, and not complete', async () => {
    const live = sampleEvents().slice(0, -2);
    const report = verifyBundle(await sampleBundle({ events: live, checkpoints: [{ seq: 3, key }] }), trusted);
    expect(report).toMatchObject({ verdict: 'incomplete', finding: null, events: 4, signedTo: 3, complete: false });
    expect(verifyBundle(await sampleBundle({ events: live, checkpoints: [] }), trusted)).toMatchObject({
      verdict: 'incomplete',
      signedTo: 0,
    });
  });

  it('that ends before the end is signed is not complete', async () => {
    const ended = await sampleBundle({ checkpoints: [{ seq: 3, key }] });
    expect(verifyBundle(ended, trusted)).toMatchObject({ verdict: 'incomplete', signedTo: 3, events: last });
  });

  it('cut back to an earlier checkpoint is not complete', async () => {
    const lines = linesOf(await whole());
    const earlier = lines.filter((line) => {
      const { seq, checkpoint } = JSON.parse(line) as { seq?: number; checkpoint?: { seq: number } };
      return (seq ?? checkpoint?.seq ?? 0) <= 3;
    });
    expect(verifyBundle(fileOf(counted(earlier)), trusted)).toMatchObject({
      verdict: 'incomplete',
      finding: null,
      signedTo: 3,
      complete: false,
    });
  });
});

describe('tampering', () => {
  it('with any byte is noticed', async () => {
    const bundle = await whole();
    fc.assert(
      fc.property(fc.nat(bundle.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const changed = Buffer.from(bundle);
        changed.writeUInt8(changed.readUInt8(at) ^ flip, at);
        expect(verifyBundle(changed, trusted).verdict).toBe('tampered');
        expect(verifyBundle(changed, null).verdict).toBe('tampered');
      }),
      { numRuns: 1_000 },
    );
  });

  it('with a byte of an event names the event', async () => {
    const lines = linesOf(await whole());
    const events = lines.flatMap((line, index) => (isEvent(line) ? [{ index, seq: (JSON.parse(line) as { seq: number }).seq }] : []));
    fc.assert(
      fc.property(fc.constantFrom(...events), fc.nat(), fc.integer({ min: 1, max: 127 }), ({ index, seq }, place, flip) => {
        const bytes = Buffer.from(lines[index] ?? '');
        const at = place % bytes.length;
        const changed = bytes.readUInt8(at) ^ flip;
        fc.pre(changed !== 0x0a);
        bytes.writeUInt8(changed, at);
        const file = Buffer.concat([fileOf(lines.slice(0, index)), bytes, Buffer.from('\n'), fileOf(lines.slice(index + 1))]);
        expect(outcome(verifyBundle(file, trusted))).toEqual({ verdict: 'tampered', seq });
      }),
      { numRuns: 500 },
    );
  });

  it('by dropping, swapping, doubling or inserting an event names the first one that is wrong', async () => {
    const lines = linesOf(await whole());
    const first = lines.findIndex(isEvent);
    fc.assert(
      fc.property(fc.nat(last - 2), fc.constantFrom('drop', 'swap', 'double', 'insert'), (nth, how) => {
        const at = first + nth;
        const own = lines[at] ?? '';
        const next = lines[at + 1] ?? '';
        const changed = {
          drop: [...lines.slice(0, at), ...lines.slice(at + 1)],
          swap: [...lines.slice(0, at), next, own, ...lines.slice(at + 2)],
          double: [...lines.slice(0, at + 1), own, ...lines.slice(at + 1)],
          insert: [...lines.slice(0, at), next, ...lines.slice(at)],
        }[how];
        const seq = how === 'double' ? nth + 2 : nth + 1;
        expect(outcome(verifyBundle(fileOf(counted(changed)), trusted))).toEqual({ verdict: 'tampered', seq });
      }),
    );
  });

  it('by cutting the file anywhere is noticed, with the end counted anew too', async () => {
    const bundle = await whole();
    fc.assert(
      fc.property(fc.nat(bundle.length - 1), (length) => {
        expect(verifyBundle(bundle.subarray(0, length), trusted).verdict).toBe('tampered');
      }),
    );
    const lines = linesOf(bundle);
    for (let cut = 1; cut < lines.length - 1; cut++) {
      const kept = [...lines.slice(0, cut), lines.at(-1) ?? ''];
      expect(verifyBundle(fileOf(counted(kept)), trusted).verdict).not.toBe('verified');
    }
  });

  it('by hashing everything anew differs from what was signed, and names where that can be', async () => {
    const events = sampleEvents();
    const forged = events.map((event, index) => (index === 3 ? { ...event, data: { ...event.data, sha256: 'sha256:other' } } : event));
    const signed = linesOf(await whole()).filter((line) => line.startsWith('{"checkpoint"'));
    const lines = linesOf(
      await sampleBundle({
        events: forged,
        checkpoints: [
          { seq: 3, key },
          { seq: last, key },
        ],
      }),
    );
    const stolen = lines.map((line) => (line.startsWith('{"checkpoint"') ? (signed.shift() ?? '') : line));
    const report = verifyBundle(fileOf(stolen), trusted);
    expect(outcome(report)).toEqual({ verdict: 'tampered', seq: 4 });
    expect(report.finding?.what).toContain('between 4 and 6');
  });

  it('by signing everything anew with another key is noticed when the signer is pinned', async () => {
    const forged = await sampleBundle({
      checkpoints: [
        { seq: 3, key: otherKey },
        { seq: last, key: otherKey },
      ],
    });
    expect(verifyBundle(forged, trusted).finding?.what).toContain(`signed by ${otherKey.kid}, which is not a key you trust`);
    expect(verifyBundle(forged, null).verdict).toBe('unpinned');
  });

  it.each([
    ['of another run', { stream: 'run-0198b3a0-0000-7000-8000-000000000002' }, 'one of another run'],
    ['of another history', { hash: 'a'.repeat(64) }, 'vouches for another history'],
  ])('with a checkpoint %s is refused', async (_name, change, what) => {
    expect(verifyBundle(await sampleBundle({ checkpoints: [{ seq: last, key, ...change }] }), trusted).finding?.what).toContain(what);
  });

  it('with the algorithm, the key or the spelling of a signature is refused', async () => {
    const lines = linesOf(await whole());
    const at = lines.findIndex((line) => line.startsWith('{"checkpoint"'));
    const { checkpoint, jws } = JSON.parse(lines[at] ?? '') as { checkpoint: object; jws: string };
    const [header = '', , signature = ''] = jws.split('.');
    const encode = (value: object): string => Buffer.from(canonicalJson(value)).toString('base64url');
    const protectedHeader = JSON.parse(Buffer.from(header, 'base64url').toString()) as Record<string, string>;
    const withJws = (changed: string): Report =>
      verifyBundle(fileOf(lines.map((line, index) => (index === at ? canonicalJson({ checkpoint, jws: changed }) : line))), trusted);
    expect(withJws(`${header}..${signature}`).verdict).toBe('verified');
    const attempts: Record<string, string> = {
      none: `${encode({ ...protectedHeader, alg: 'none' })}..`,
      'none with the signature': `${encode({ ...protectedHeader, alg: 'none' })}..${signature}`,
      HMAC: `${encode({ ...protectedHeader, alg: 'HS256' })}..${signature}`,
      'another typ': `${encode({ ...protectedHeader, typ: 'JWT' })}..${signature}`,
      'a crit header': `${encode({ ...protectedHeader, b64: 'false' })}..${signature}`,
      'a key inside': `${encode({ ...protectedHeader, jwk: 'x' })}..${signature}`,
      'another kid': `${encode({ ...protectedHeader, kid: otherKey.kid })}..${signature}`,
      padding: `${header}..${signature}==`,
      'the other base64 alphabet': `${header}..${signature.replaceAll('-', '+').replaceAll('_', '/')}=`,
      'trailing bits': `${header}..${signature.slice(0, -1)}${signature.endsWith('A') ? 'B' : String.fromCharCode(signature.charCodeAt(signature.length - 1) + 1)}`,
      'a payload inside': `${header}.${encode(checkpoint)}.${signature}`,
      'another signature': `${header}..${Buffer.alloc(64, 7).toString('base64url')}`,
      'an empty signature': `${header}..`,
      'four parts': `${header}..${signature}.`,
    };
    for (const [name, changed] of Object.entries(attempts)) expect([name, withJws(changed).verdict]).toEqual([name, 'tampered']);
  });

  it('with what JSON allows and the canonical form does not is refused', async () => {
    const lines = linesOf(await whole());
    const at = lines.findIndex(isEvent) + 1;
    const own = lines[at] ?? '';
    const attempts: Record<string, string> = {
      'a second member of the same name': own.replace('"verdict":"deny"', '"verdict":"allow","verdict":"deny"'),
      'another order': own.replace(/^\{"event":(.*),"hash":("[0-9a-f]+")/, '{"hash":$2,"event":$1'),
      'a space': own.replace('{"event":', '{"event": '),
      'another number': own.replace('"version":1', '"version":1.0'),
      'an escaped letter': own.replace('"Bash"', '"B\\u0061sh"'),
      'another member': own.replace(/\}$/, ',"z":1}'),
      'a carriage return': `${own}\r`,
      'a byte order mark': `\ufeff${own}`,
    };
    for (const [name, changed] of Object.entries(attempts)) {
      expect(changed).not.toBe(own);
      const file = fileOf(lines.map((line, index) => (index === at ? changed : line)));
      expect([name, outcome(verifyBundle(file, trusted))]).toEqual([name, { verdict: 'tampered', seq: 2 }]);
    }
  });

  it('with half of a surrogate pair, a bottomless value or no bundle at all is refused', async () => {
    const lines = linesOf(await whole());
    const half = await sampleBundle({ checkpoints: [{ seq: last, key }] });
    const changed = half.toString('utf8').replace('"name":"changes.diff"', '"name":"\\ud800"');
    expect(verifyBundle(Buffer.from(changed), trusted)).toMatchObject({ verdict: 'tampered', finding: { seq: 4 } });
    expect(verifyBundle(fileOf([...lines.slice(0, 3), '['.repeat(200_000), ...lines.slice(3)]), trusted).verdict).toBe('tampered');
    expect(
      verifyBundle(fileOf([...lines.slice(0, 3), '['.repeat(200_000) + ']'.repeat(200_000), ...lines.slice(3)]), trusted).verdict,
    ).toBe('tampered');
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => verifyBundle(Buffer.from(bytes), trusted).verdict === 'tampered'));
  });

  it('with members of a made-up name, of prototypes too, is refused', async () => {
    const lines = linesOf(await whole());
    const at = lines.findIndex((line) => line.startsWith('{"checkpoint"'));
    for (const [find, put] of [
      ['"org":"default","seq"', '"org,seq"'],
      ['{"checkpoint":{', '{"__proto__":{},"checkpoint":{'],
      ['{"checkpoint":{', '{"checkpoint":{"__proto__":{"seq":1},'],
      ['{"checkpoint":', '{"constructor":1,"checkpoint":'],
    ] as const) {
      const changed = (lines[at] ?? '').replace(find, put);
      expect(changed).not.toBe(lines[at]);
      expect(verifyBundle(fileOf(lines.with(at, changed)), trusted).verdict).toBe('tampered');
    }
  });

  it('by any number of keys or documents costs time in proportion to them', () => {
    const head = canonicalJson({ format: 'fluidbox-bundle/1', org: 'default', stream: `run-${'0'.repeat(36)}` });
    const documents = Array.from({ length: 40_000 }, (_, n) => String(n)).map((document) => ({
      digest: `sha256:${createHash('sha256').update(document).digest('hex')}`,
      document,
    }));
    documents.sort((a, b) => (a.digest < b.digest ? -1 : 1));
    // Of the processor, not of the clock: the machine may be busy.
    const began = process.cpuUsage();
    const report = verifyBundle(fileOf([head, ...documents.map((each) => canonicalJson(each))]), trusted);
    expect(report.finding?.what).toContain('its end is missing');
    const { user, system } = process.cpuUsage(began);
    expect((user + system) / 1e3).toBeLessThan(3_000);
  });

  it('with the specification or a document is refused', async () => {
    const withDocuments = async (documents: readonly Buffer[]) =>
      verifyBundle(await sampleBundle({ checkpoints: [{ seq: last, key }], documents }), trusted);
    expect((await withDocuments([])).finding).toMatchObject({ seq: 1, what: expect.stringContaining('is missing') });
    const lines = linesOf(await whole());
    const spec = lines.find((line) => line.includes('run_id')) ?? '';
    const { document } = JSON.parse(spec) as { document: string };
    const other = document.replace('"version: 1', '"version: 2');
    const renamed = canonicalJson({ digest: `sha256:${createHash('sha256').update(other).digest('hex')}`, document: other });
    const sorted = lines
      .map((line) => (line === spec ? renamed : line))
      .sort((a, b) => (a.startsWith('{"digest"') && b.startsWith('{"digest"') ? (a < b ? -1 : 1) : 0));
    expect(verifyBundle(fileOf(sorted), trusted).finding?.what).toContain('is missing');
    expect((await withDocuments([Buffer.from(document), Buffer.from('something else')])).finding?.what).toContain(
      'nothing in the run refers to',
    );
    expect(document).not.toBe(other);
  });

  it('with a decision of another policy than the frozen one is named', async () => {
    const events = sampleEvents().map((event) =>
      event.type === 'tool.decision' ? { ...event, data: { ...event.data, policy_digest: 'sha256:other' } } : event,
    );
    expect(outcome(verifyBundle(await sampleBundle({ events, checkpoints: [{ seq: last, key }] }), trusted))).toEqual({
      verdict: 'tampered',
      seq: 2,
    });
  });
});

describe('witnessed heads', () => {
  const witnessOf = async (bundle: Buffer): Promise<string> =>
    linesOf(bundle)
      .filter((line) => line.startsWith('{"checkpoint"'))
      .map((line) => JSON.parse(line) as { checkpoint: object; jws: string })
      .map(({ checkpoint, jws }) => jws.replace('..', `.${Buffer.from(canonicalJson(checkpoint)).toString('base64url')}.`))
      .join('\n');

  it('agree with the bundle, whatever they say of other runs', async () => {
    const other = await sampleBundle({ run: '0198b3a0-0000-7000-8000-000000000002', checkpoints: [{ seq: 2, key: otherKey }] });
    const heads = `${await witnessOf(await whole())}\n${await witnessOf(other)}\n`;
    expect(verifyBundle(await whole(), trusted, heads)).toMatchObject({ verdict: 'verified', witnessed: last });
    expect(verifyBundle(await whole(), trusted, JSON.stringify({ seq: 3, jws: heads.split('\n')[0] })).witnessed).toBe(3);
    expect(verifyBundle(await whole(), trusted, heads.replaceAll('\n', '\r\n'))).toMatchObject({ verdict: 'verified', witnessed: last });
  });

  it('may end in a torn line, wherever a crash tore it; one in the middle is wrong', async () => {
    const bundle = await whole();
    const [first = '', second = ''] = (await witnessOf(bundle)).split('\n');
    for (const line of [second, JSON.stringify({ stream: 's', seq: last, hash: 'h', jws: second })]) {
      for (let kept = 1; kept < line.length; kept += 1) {
        const torn = line.slice(0, kept);
        const report = verifyBundle(bundle, trusted, `${first}\n${torn}`);
        expect(report).toMatchObject({ verdict: 'verified', witnessed: 3, notes: [expect.stringContaining('torn')] });
        if (kept % 50 === 1)
          for (const middle of [`${torn}\n${first}\n`, `${first}\n${torn}\n`])
            expect(verifyBundle(bundle, trusted, middle)).toMatchObject({ verdict: 'tampered', notes: [] });
      }
      // Whole, and without its newline: it counts.
      expect(verifyBundle(bundle, trusted, `${first}\n${line}`)).toMatchObject({ verdict: 'verified', witnessed: last, notes: [] });
    }
    const cut = await sampleBundle({ events: sampleEvents().slice(0, 3), checkpoints: [{ seq: 3, key }] });
    expect(outcome(verifyBundle(cut, trusted, `${first}\n${second}`))).toEqual({ verdict: 'tampered', seq: 4 });
    expect(outcome(verifyBundle(bundle, trustIn(otherKey), `${first}\n${second}`)).verdict).toBe('tampered');
  });

  it('that nobody signed vouch for nothing, and that is said', async () => {
    const unsigned = JSON.stringify({ stream: 's', seq: 3, hash: 'h', jws: null });
    const report = verifyBundle(await whole(), trusted, `${unsigned}\n${await witnessOf(await whole())}\n`);
    expect(report).toMatchObject({ verdict: 'verified', witnessed: last, notes: [expect.stringContaining('not signed')] });
  });

  it('show a run that was cut back or written anew by somebody who holds the key', async () => {
    const heads = await witnessOf(await whole());
    const cut = await sampleBundle({ events: sampleEvents().slice(0, 3), checkpoints: [{ seq: 3, key }] });
    expect(verifyBundle(cut, trusted).verdict).toBe('incomplete');
    expect(outcome(verifyBundle(cut, trusted, heads))).toEqual({ verdict: 'tampered', seq: 4 });
    const rewritten = await sampleBundle({
      events: sampleEvents(undefined, [{ type: 'agent.message', data: {} }, ...sampleEvents().slice(2, 4)]),
      checkpoints: [{ seq: last, key }],
    });
    expect(verifyBundle(rewritten, trusted).verdict).toBe('verified');
    expect(verifyBundle(rewritten, trusted, heads).finding?.what).toContain('was witnessed at event 3');
    const moved = await sampleBundle({ org: 'other', events: sampleEvents(), checkpoints: [{ seq: last, key }] });
    expect(verifyBundle(moved, trusted).verdict).toBe('verified');
    expect(outcome(verifyBundle(moved, trusted, heads))).toEqual({ verdict: 'tampered', seq: 1 });
  });
});

describe('the published vectors', () => {
  const bundle = readFileSync(path.join(vectors, 'bundle.jsonl'), 'utf8').split('\n');
  const keys = keySetOf(readFileSync(path.join(vectors, 'keys.json'), 'utf8'));
  const { cases } = JSON.parse(readFileSync(path.join(vectors, 'cases.json'), 'utf8')) as {
    cases: { name: string; line: number; find: string; replace: string; verdict: string; seq: number | null }[];
  };
  it.each(cases)('$name: $verdict', ({ line, find, replace, verdict, seq }) => {
    const own = bundle[line - 1] ?? '';
    expect(own.includes(find)).toBe(true);
    const changed = bundle.with(line - 1, own.replace(find, replace)).join('\n');
    expect(outcome(verifyBundle(Buffer.from(changed), { keys }))).toEqual({ verdict, seq });
  });
});

describe('a key set', () => {
  it('is read by thumbprint, whatever its keys call themselves', () => {
    const [jwk] = key.publicKeys.keys;
    const set = keySetOf(JSON.stringify({ keys: [{ ...jwk, kid: 'mine' }] }));
    expect([...set.keys()]).toEqual([key.kid]);
    expect(thumbprint({ kty: 'OKP', crv: 'Ed25519', x: jwk?.x ?? '' })).toBe(key.kid);
  });
  it.each(['{}', '[]', 'x', '{"keys":[]}', '{"keys":[{"kty":"RSA"}]}', '{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA"}]}'])(
    'is refused when it is %s',
    (text) => {
      expect(() => keySetOf(text)).toThrow();
    },
  );
});
