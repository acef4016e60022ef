import fc from 'fast-check';
import pg from 'pg';
import { arrayText } from './array-text';

/** As the driver reads a text[] (1009) that the database sent. */
const read = pg.types.getTypeParser(1009 as never, 'text');

describe('the text of an array', () => {
  it('is read back as the same elements', () => {
    const element = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('', 'null', 'NULL', '{', '"', '\\', '\\"', ','),
      fc.constant(null),
    );
    fc.assert(fc.property(fc.array(element), (elements) => expect(read(String(arrayText(elements)))).toEqual(elements)));
  });

  it('holds numbers and booleans as they are', () => {
    expect(arrayText([1, -2.5, null])).toBe('{1,-2.5,NULL}');
    expect(arrayText([true, false])).toBe('{true,false}');
    expect(arrayText([])).toBe('{}');
  });

  it('leaves anything else to the driver', () => {
    const bytes = [Buffer.from('a'), null];
    expect(arrayText(bytes)).toBe(bytes);
  });
});
