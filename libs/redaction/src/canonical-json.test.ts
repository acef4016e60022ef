import fc from 'fast-check';
import { canonicalDepthMax, canonicalJson } from './canonical-json';

/** RFC 8785 appendix B: IEEE 754 bits and the text they must have. */
const numbers: readonly [string, string][] = [
  ['0000000000000000', '0'],
  ['8000000000000000', '0'],
  ['0000000000000001', '5e-324'],
  ['8000000000000001', '-5e-324'],
  ['7fefffffffffffff', '1.7976931348623157e+308'],
  ['ffefffffffffffff', '-1.7976931348623157e+308'],
  ['4340000000000000', '9007199254740992'],
  ['c340000000000000', '-9007199254740992'],
  ['4430000000000000', '295147905179352830000'],
  ['44b52d02c7e14af5', '9.999999999999997e+22'],
  ['44b52d02c7e14af6', '1e+23'],
  ['44b52d02c7e14af7', '1.0000000000000001e+23'],
  ['444b1ae4d6e2ef4e', '999999999999999700000'],
  ['444b1ae4d6e2ef4f', '999999999999999900000'],
  ['444b1ae4d6e2ef50', '1e+21'],
  ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
  ['3eb0c6f7a0b5ed8d', '0.000001'],
  ['41b3de4355555553', '333333333.3333332'],
  ['41b3de4355555554', '333333333.33333325'],
  ['41b3de4355555555', '333333333.3333333'],
  ['41b3de4355555556', '333333333.3333334'],
  ['41b3de4355555557', '333333333.33333343'],
  ['becbf647612f3696', '-0.0000033333333333333333'],
  ['43143ff3c1cb0959', '1424953923781206.2'],
];

describe('canonicalJson (RFC 8785)', () => {
  it.each(numbers)('writes the number with bits %s as %s', (bits, text) => {
    expect(canonicalJson(Buffer.from(bits, 'hex').readDoubleBE())).toBe(text);
  });

  it('writes the example of section 3.2.3', () => {
    const value = JSON.parse(
      String.raw`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`,
    );
    expect(canonicalJson(value)).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
  });

  it('sorts members by UTF-16 code units (section 3.2.3, and the "weird" vector)', () => {
    const value = JSON.parse(
      String.raw`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
    );
    expect(Object.values(JSON.parse(canonicalJson(value)) as object).length).toBe(7);
    expect([...canonicalJson(value).matchAll(/:"([^"]*)"/g)].map((match) => match[1])).toEqual([
      'Carriage Return',
      'One',
      'Control',
      'Latin Small Letter O With Diaeresis',
      'Euro Sign',
      'Emoji: Grinning Face',
      'Hebrew Letter Dalet With Dagesh',
    ]);
  });

  it('writes the "structures", "arrays", "french" and "unicode" vectors', () => {
    expect(
      canonicalJson(
        JSON.parse('{"1":{"f":{"f":"hi","F":5} ,"\\n":56.0},"10":{ },"":"empty","a":{ },"111":[ {"e":"yes","E":"no"}],"A":{ }}'),
      ),
    ).toBe('{"":"empty","1":{"\\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{"E":"no","e":"yes"}],"A":{},"a":{}}');
    expect(canonicalJson(JSON.parse('[56,{"d":true,"10":null,"1":[ ]}]'))).toBe('[56,{"1":[],"10":null,"d":true}]');
    expect(canonicalJson({ peach: 'a', péché: 'b', pêche: 'c', sin: 'd' })).toBe('{"peach":"a","péché":"b","pêche":"c","sin":"d"}');
    expect(canonicalJson({ 'Unnormalized Unicode': 'A\u030a' })).toBe('{"Unnormalized Unicode":"A\u030a"}');
  });

  it('gives one text for one value, and the value back', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(JSON.parse(text))).toBe(text);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it.each([
    ['NaN', Number.NaN],
    ['infinity', Number.POSITIVE_INFINITY],
    ['a bigint', 1n],
    ['a lone surrogate', '\ud800'],
    ['a lone surrogate in a name', { '\udead': 1 }],
    ['a date', new Date(0)],
    ['a hole in an array', [undefined]],
    ['a function', () => 1],
  ])('refuses %s', (_name, value) => {
    expect(() => canonicalJson(value)).toThrow('canonical JSON');
  });

  it('leaves out undefined members, keeps a member called __proto__', () => {
    expect(canonicalJson({ a: undefined, b: 1 })).toBe('{"b":1}');
    expect(canonicalJson(JSON.parse('{"__proto__":{"x":1}}'))).toBe('{"__proto__":{"x":1}}');
  });

  it('refuses nesting beyond its bound and writes nesting within it', () => {
    const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth));
    expect(canonicalJson(nested(canonicalDepthMax))).toHaveLength(2 * canonicalDepthMax);
    expect(() => canonicalJson(nested(canonicalDepthMax + 1))).toThrow('nested deeper');
    expect(() => canonicalJson(nested(200_000))).toThrow('nested deeper');
  });
});
