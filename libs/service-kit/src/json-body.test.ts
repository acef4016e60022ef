import { parseJsonBody } from './json-body';

const parse = (text: string): unknown => parseJsonBody(Buffer.from(text));
const codeOf = (text: string): unknown => {
  try {
    return parse(text);
  } catch (error) {
    return (error as { code?: string }).code;
  }
};

describe('a JSON body', () => {
  it('is parsed, and an empty one is none', () => {
    expect(parse('{"a":["x\\u0000",1]}')).toEqual({ a: ['x\u0000', 1] });
    expect(parse('')).toBeUndefined();
  });

  it('that is no JSON is another thing than one that is refused', () => {
    expect([codeOf('{'), codeOf('{"__proto__":1'), codeOf('{"__proto__":1}'), codeOf('{"a":[{"\\u005f_proto__":1}]}')]).toEqual([
      'invalid_request',
      'invalid_request',
      'unprocessable',
      'unprocessable',
    ]);
  });

  it('may speak of prototypes', () => {
    expect(codeOf('{"text":"set __proto__ and \\u005f"}')).toEqual({ text: 'set __proto__ and _' });
    expect(codeOf('{"constructor":{"prototype":1}}')).toEqual({ constructor: { prototype: 1 } });
  });

  it('is refused when it is nested beyond reason, not when brackets stand in its text', () => {
    expect(codeOf('['.repeat(1_000_000))).toBe('unprocessable');
    expect(codeOf(`${'['.repeat(128)}${']'.repeat(128)}`)).toBeInstanceOf(Array);
    const text = `\\"${'[{'.repeat(1_000)}`;
    expect(codeOf(JSON.stringify({ text }))).toEqual({ text });
  });
});
