import { z } from 'zod';
import { faultSentence } from './fault-sentence';

const errorOf = (schema: z.ZodType, value: unknown): unknown => schema.safeParse(value).error;

describe('the words for a fault', () => {
  it('name the fields of a schema error, and hold no JSON', () => {
    const schema = z.object({ input: z.object({ command: z.string() }), n: z.array(z.number()) });
    const sentence = faultSentence(errorOf(schema, { input: {}, n: [1, 'x'] }));
    expect(sentence).toMatch(/^not as agreed: input\.command: .*; n\.1: /);
    expect(sentence).not.toMatch(/[{}[\]\n]/);
    expect(faultSentence(errorOf(z.string(), 1))).toMatch(/^not as agreed: Invalid input/);
  });
  it('are the message of any other error', () => {
    expect(faultSentence(new Error('no such step'))).toBe('no such step');
    expect(faultSentence('gone')).toBe('gone');
  });
});
