import Ajv from 'ajv';
import Ajv2020 from 'ajv/dist/2020';
import fc from 'fast-check';
import { cpuMsOf } from '../policy.fixture';
import { compileArgumentSchema } from './compile-schema';

const judge = (schema: unknown, input: unknown, dialect?: 'draft-07' | '2020-12') => {
  const compiled = compileArgumentSchema(schema, dialect === undefined ? {} : { dialect });
  if (!compiled.ok) throw new Error(compiled.problem);
  return compiled.validate(input);
};
const problemOf = (schema: unknown): string | null => {
  const compiled = compileArgumentSchema(schema);
  return compiled.ok ? null : compiled.problem;
};
const ticket = {
  type: 'object',
  properties: {
    title: { type: 'string', minLength: 3, maxLength: 20 },
    labels: { type: 'array', items: { enum: ['bug', 'task'] }, uniqueItems: true, maxItems: 2 },
    points: { type: 'integer', minimum: 1, exclusiveMaximum: 10 },
    when: { type: 'string', pattern: '^\\d{4}-\\d{2}$' },
  },
  required: ['title'],
  additionalProperties: false,
};

describe('arguments of a tool', () => {
  it('pass when they fit', () => {
    expect(judge(ticket, { title: 'abc', labels: ['bug', 'task'], points: 9, when: '2026-11' })).toBeNull();
  });

  it.each([
    [{}, '/title', 'is missing'],
    [{ title: 7 }, '/title', 'must be string'],
    [{ title: 'ab' }, '/title', 'at least 3'],
    [{ title: 'abc', labels: ['bug', 'bug'] }, '/labels', 'twice'],
    [{ title: 'abc', labels: ['no'] }, '/labels/0', 'lists'],
    [{ title: 'abc', points: 10 }, '/points', 'below 10'],
    [{ title: 'abc', points: 1.5 }, '/points', 'must be integer'],
    [{ title: 'abc', when: 'x2026-11' }, '/when', 'must match'],
    [{ title: 'abc', 'a/b~c': 1 }, '/a~1b~0c', 'is not a property'],
    [[], '', 'must be object'],
  ])('%j: %s %s', (input, pointer, reason) => {
    expect(judge(ticket, input)).toMatchObject({ pointer, reason: expect.stringContaining(reason) });
  });

  it('are named by place, never by value, in at most 400 bytes', () => {
    const schema = { properties: Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`päth${i}`, { type: 'number' }])) };
    const secret = 'hunter2-hunter2';
    const found = judge(schema, Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`päth${i}`, secret])));
    expect(found?.summary).toMatch(/^arguments rejected by frozen schema: \/päth0 must be number; /);
    expect(found?.summary).not.toContain('päth8');
    expect(JSON.stringify(found)).not.toContain('hunter2');
    expect(
      Buffer.byteLength(judge(schema, Object.fromEntries(Object.keys(schema.properties).map((key) => [key, 'x'])))?.summary ?? ''),
    ).toBeLessThanOrEqual(400);
    const wide = { additionalProperties: false };
    expect(judge(wide, { ['n'.repeat(199)]: 1 })?.pointer).toBe(`/${'n'.repeat(199)}`);
    expect(judge(wide, { ['n'.repeat(300)]: 1 })?.pointer).toBe(`/${'n'.repeat(199)}…`);
    const summary = judge(wide, Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`${'ü'.repeat(150)}${i}`, 1])))?.summary ?? '';
    expect(Buffer.byteLength(summary)).toBeLessThanOrEqual(400);
    expect(summary.endsWith('…')).toBe(true);
  });
});

describe('a schema is refused, and says where', () => {
  it.each([
    ['a reference elsewhere', { $ref: 'https://h.example/schema' }, '/$ref must refer to a place in the schema itself'],
    ['a reference to nothing', { properties: { a: { $ref: '#/$defs/a' } } }, '/properties/a/$ref refers to nothing'],
    ['a look-ahead', { pattern: '(?=a)b' }, '/pattern is not a pattern that can be matched in linear time'],
    ['a huge pattern', { pattern: '(a{1000}){3}b{999}' }, '/pattern is not a pattern'],
    ['an unknown type', { type: 'text' }, '/type is not a type'],
    ['a dynamic reference', { $dynamicRef: '#x' }, '/$dynamicRef is not supported'],
    ['a negative size', { minLength: -1 }, '/minLength must be a whole number from 0'],
    ['a text as schema', { properties: { a: 'string' } }, '/properties/a must be a schema'],
    ['an array of items in 2020-12', { items: [{}] }, 'prefixItems'],
    ['an own identity inside', { properties: { a: { $id: 'http://x' } } }, '/properties/a/$id must not stand inside of a schema'],
    [
      'too many patterns',
      { patternProperties: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`^a${i}$`, true])) },
      '64 patterns',
    ],
    ['too many parts', { enum: Array.from({ length: 20_001 }, (_, i) => i) }, 'has more than 20000 parts'],
    ['too much text', { description: 'x'.repeat(300_000) }, 'is larger than 262144 bytes'],
    ['too deep nesting', Array.from({ length: 33 }).reduce<unknown>((inner) => ({ not: inner }), {}), 'is nested deeper than 32'],
    ['no schema at all', 7, 'the schema must be a schema'],
  ])('%s', (_what, schema, problem) => {
    expect(problemOf(schema)).toContain(problem);
  });
  it('and one at each bound is taken', () => {
    expect(problemOf(Array.from({ length: 32 }).reduce<unknown>((inner) => ({ not: inner }), {}))).toBeNull();
    expect(problemOf({ patternProperties: Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`^a${i}$`, true])) })).toBeNull();
  });
});

describe('nothing that schema or arguments say takes long', () => {
  const timed = (schema: unknown, input: unknown) => {
    let found = null as ReturnType<typeof judge>;
    const ms = cpuMsOf(() => {
      found = judge(schema, input);
    });
    expect(ms).toBeLessThan(2_000);
    return found;
  };
  it('a reference to itself ends', () => {
    expect(timed({ $ref: '#' }, {})?.reason).toContain('more steps');
    expect(timed({ anyOf: [{ $ref: '#' }, { $ref: '#' }] }, {})?.reason).toContain('more steps');
    expect(timed({ not: { $ref: '#' } }, {})?.reason).toContain('more steps');
  });
  it('a long chain of references holds the stack', () => {
    const $defs = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`d${i}`, i === 4999 ? {} : { $ref: `#/$defs/d${i + 1}` }]));
    expect(timed({ $defs, $ref: '#/$defs/d0' }, {})?.reason).toContain('more steps');
  });
  it('alternatives that double at every level are cut off', () => {
    const tree = {
      anyOf: [
        { type: 'object', properties: { a: { $ref: '#' } }, required: ['x'] },
        { properties: { a: { $ref: '#' } }, required: ['y'] },
      ],
    };
    const deep = Array.from({ length: 40 }).reduce<unknown>((inner) => ({ a: inner }), {});
    expect(timed(tree, deep)?.reason).toContain('more steps');
  });
  it('a hostile pattern meets a hostile text', () => {
    expect(timed({ pattern: '^(x+x+)+y$' }, 'x'.repeat(100_000))?.reason).toContain('must match');
    expect(timed({ pattern: '^([a-z]*[x-z]){90}[qy]$' }, 'x'.repeat(1_000_000))?.reason).toContain('more steps');
  });
  it('a large value against many listed ones', () => {
    const large = { a: Array.from({ length: 9000 }, () => 'x'.repeat(80)) };
    expect(timed({ anyOf: Array.from({ length: 3000 }, (_, i) => ({ const: { i } })) }, large)?.reason).toContain('more steps');
  });
  it.each([
    ['too deep', Array.from({ length: 65 }).reduce<unknown>((inner) => [inner], 0), 'nested deeper than 64'],
    ['too many', Array.from({ length: 10_001 }, () => 0), 'more than 10000 parts'],
    ['too large', 'x'.repeat(1024 * 1024), 'larger than 1048576 bytes'],
  ])('arguments that are %s', (_what, input, reason) => {
    expect(judge(true, input)?.reason).toContain(reason);
  });
});

describe('decimals and texts', () => {
  it.each([
    [0.07, 0.01, true],
    [0.075, 0.01, false],
    [1e300, 7, false],
    [3, 1e-7, true],
    [0, 5, true],
    [-4, 2, true],
    [4.5, 1.5, true],
  ])('%d is a multiple of %d: %s', (value, multipleOf, holds) => {
    expect(judge({ multipleOf }, value) === null).toBe(holds);
  });
  it('reads the escapes of JavaScript in patterns', () => {
    expect(judge({ pattern: '^\\u00e4\\u{62}\\/$' }, 'äb/')).toBeNull();
    expect(judge({ pattern: '^\\\\u0061$' }, 'a')).not.toBeNull();
    expect(judge({ pattern: '^\\\\u0061$' }, '\\u0061')).toBeNull();
  });
  it('a dot of a schema does not match a line break', () => {
    expect(judge({ pattern: 'a.b' }, 'a\nb')).not.toBeNull();
    expect(judge({ pattern: 'a.b' }, 'a b')).toBeNull();
  });
});

it('unevaluated members are those that no part of the schema looked at', () => {
  const schema = {
    allOf: [{ properties: { a: true } }],
    if: { properties: { b: { const: 1 } }, required: ['b'] },
    unevaluatedProperties: false,
  };
  expect(judge(schema, { a: 1, b: 1 })).toBeNull();
  expect(judge(schema, { a: 1, b: 2 })).toMatchObject({ pointer: '/b' });
  expect(judge({ prefixItems: [true], contains: { const: 7 }, unevaluatedItems: false }, [1, 7])).toBeNull();
  expect(judge({ prefixItems: [true], contains: { const: 7 }, unevaluatedItems: false }, [1, 7, 2])).toMatchObject({ pointer: '/2' });
});

describe('a recursive schema', () => {
  const list = {
    $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, additionalProperties: false } },
    $ref: '#/$defs/node',
  };
  it('judges every level', () => {
    expect(judge(list, { next: { next: {} } })).toBeNull();
    expect(judge(list, { next: { next: { bad: 1 } } })).toMatchObject({ pointer: '/next/next/bad' });
  });
});

/** Schemas and values from the same few names, so that they meet. */
const name = fc.constantFrom('a', 'b', 'c');
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, false, 0, 1, 2, 1.5, -1, '', 'a', 'ab', 'abc', 'ä'),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(name, tie('any'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).any;
const small = fc.nat(3);
const schemas = (dialect: 'draft-07' | '2020-12') =>
  fc.letrec((tie) => {
    const of = tie('schema');
    const keywords: Record<string, fc.Arbitrary<unknown>> = {
      type: fc.oneof(fc.constantFrom('string', 'number', 'integer', 'object', 'array', 'null', 'boolean'), fc.constant(['string', 'null'])),
      enum: fc.uniqueArray(fc.constantFrom<unknown>(1, 'a', null, true), { minLength: 1, maxLength: 3 }),
      const: fc.constantFrom<unknown>(1, 'a', null),
      minimum: small,
      maximum: small,
      exclusiveMinimum: small,
      exclusiveMaximum: small,
      multipleOf: fc.constantFrom(1, 2, 0.5),
      minLength: small,
      maxLength: small,
      pattern: fc.constantFrom('a', '^b', 'c$', '^[ab]+$', '^.$'),
      properties: fc.dictionary(name, of, { maxKeys: 3 }),
      patternProperties: fc.dictionary(fc.constantFrom('^a', 'b$', '.'), of, { maxKeys: 2 }),
      additionalProperties: of,
      required: fc.uniqueArray(name, { maxLength: 2 }),
      propertyNames: fc.constantFrom({ pattern: 'a|b' }, { maxLength: 1 }, false),
      minProperties: small,
      maxProperties: small,
      contains: of,
      uniqueItems: fc.boolean(),
      minItems: small,
      maxItems: small,
      allOf: fc.array(of, { minLength: 1, maxLength: 2 }),
      anyOf: fc.array(of, { minLength: 1, maxLength: 2 }),
      oneOf: fc.array(of, { minLength: 1, maxLength: 2 }),
      not: of,
      if: of,
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: of,
      else: of,
      ...(dialect === 'draft-07'
        ? {
            items: fc.oneof(of, fc.array(of, { minLength: 1, maxLength: 2 })),
            additionalItems: of,
            dependencies: fc.dictionary(name, fc.oneof(of, fc.uniqueArray(name, { maxLength: 2 })), { maxKeys: 2 }),
          }
        : {
            items: of,
            prefixItems: fc.array(of, { minLength: 1, maxLength: 2 }),
            dependentRequired: fc.dictionary(name, fc.uniqueArray(name, { maxLength: 2 }), { maxKeys: 2 }),
            dependentSchemas: fc.dictionary(name, of, { maxKeys: 2 }),
            unevaluatedProperties: of,
            unevaluatedItems: of,
            minContains: small,
            maxContains: small,
          }),
    };
    const some = fc.uniqueArray(fc.constantFrom(...Object.keys(keywords)), { maxLength: 3 });
    return {
      schema: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.boolean(),
        some.chain((keys) => fc.record(Object.fromEntries(keys.map((key) => [key, keywords[key] ?? fc.constant(true)])))),
      ),
    };
  }).schema;

/** Null where ajv's own code breaks: beside some `unevaluatedProperties` it writes into what it has not made. */
const verdictOf = (validate: (value: unknown) => unknown, each: unknown): boolean | null => {
  try {
    return validate(each) === true;
  } catch (error) {
    if (error instanceof TypeError) return null;
    throw error;
  }
};

describe('says the same as a validator that everybody uses', () => {
  it.each(['draft-07', '2020-12'] as const)('%s', (dialect) => {
    const options = { strict: false, validateSchema: false, logger: false, unicodeRegExp: true } as const;
    const ajv = dialect === 'draft-07' ? new Ajv(options) : new Ajv2020(options);
    const seen = { valid: 0, invalid: 0 };
    fc.assert(
      fc.property(schemas(dialect), fc.array(value, { minLength: 4, maxLength: 4 }), (schema, values) => {
        // Beside items by their place ajv takes an empty list for one that contains something; see the test below.
        const text = JSON.stringify(schema);
        fc.pre(!text.includes('"contains":false') && !(text.includes('"contains"') && /"prefixItems"|"items":\[/.test(text)));
        const theirs = ajv.compile(schema as object);
        for (const each of values) {
          const valid = verdictOf(theirs, each);
          if (valid === null) continue;
          seen[valid ? 'valid' : 'invalid']++;
          expect({ schema, each, valid: judge(schema, each, dialect) === null }).toEqual({ schema, each, valid });
        }
      }),
      { numRuns: 400 },
    );
    expect(Math.min(seen.valid, seen.invalid)).toBeGreaterThan(100);
  });

  it('but knows that no list contains what cannot be', () => {
    for (const schema of [{ contains: false }, { contains: false, prefixItems: [false] }])
      expect(judge(schema, [], '2020-12')).not.toBeNull();
    expect(judge({ contains: true }, [1], '2020-12')).toBeNull();
  });

  it.each([
    [[], false],
    [['a'], false],
    [['a', 1], true],
    [[1, 1], false],
  ])('and that a list whose first is a text contains a number: %j %s', (list, valid) => {
    const schema = { prefixItems: [{ type: 'string' }], contains: { type: 'number' } };
    expect(judge(schema, list, '2020-12') === null).toBe(valid);
    expect(judge({ prefixItems: [{ type: 'string' }], contains: true }, [], '2020-12')).not.toBeNull();
  });
});
