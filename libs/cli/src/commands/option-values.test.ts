import { day, dollars, dollarsOrNone, jsonObject, positive, thumbprint, time, whole, wholeOrZero, wholeUpTo } from './option-values';

const upToFour = wholeUpTo(4);
const print = 'YdpgNfq0FC9arU6J1mcuoY8GsBDdnCKnqbg0CVmChe4';

describe('what options are parsed to', () => {
  it.each([
    ['positive', positive, '2.5', 2.5],
    ['whole', whole, '20', 20],
    ['wholeOrZero', wholeOrZero, '0', 0],
    ['wholeUpTo', upToFour, '4', 4],
    ['day', day, '2028-02-29', '2028-02-29'],
    ['time', time, '2026-11-01T08:00:00Z', '2026-11-01T08:00:00Z'],
    ['dollars', dollars, '0.000001', 0.000001],
    ['dollarsOrNone', dollarsOrNone, '0', 0],
    ['dollarsOrNone', dollarsOrNone, 'none', 'none'],
    ['thumbprint', thumbprint, print, print],
    ['jsonObject', jsonObject, '{"a":1}', { a: 1 }],
  ])('%s takes %j', (_name, parse: (text: string) => unknown, word, value) => {
    expect(parse(word)).toEqual(value);
  });

  it.each([
    ['positive', positive, '0', 'a number above 0'],
    ['positive', positive, 'x', 'a number above 0'],
    ['whole', whole, '0', 'a whole number from 1 on'],
    ['whole', whole, '1.5', 'a whole number from 1 on'],
    ['whole', whole, '-1', 'a whole number from 1 on'],
    ['wholeOrZero', wholeOrZero, 'x', 'a whole number from 0 on'],
    ['wholeUpTo', upToFour, '5', 'a whole number from 1 to 4'],
    ['wholeUpTo', upToFour, '0', 'a whole number from 1 to 4'],
    ['day', day, 'yesterday', 'a day such as'],
    ['day', day, '2026-02-29', 'a day such as'],
    ['day', day, '2026-13-01', 'a day such as'],
    ['time', time, 'yesterday', 'a time such as'],
    ['dollars', dollars, '0', 'a number of dollars above 0'],
    ['dollars', dollars, '0.0000001', 'a number of dollars above 0'],
    // Rounded to millionths it would be a limit of nothing, which nobody asked for.
    ['dollarsOrNone', dollarsOrNone, '0.0000001', 'from 0.000001 on, or none'],
    ['dollarsOrNone', dollarsOrNone, '-1', 'from 0.000001 on, or none'],
    ['dollarsOrNone', dollarsOrNone, '', 'from 0.000001 on, or none'],
    ['thumbprint', thumbprint, 'abc', 'the thumbprint of a key'],
    ['jsonObject', jsonObject, '[]', 'a JSON object'],
    ['jsonObject', jsonObject, 'x', 'not JSON'],
  ])('%s refuses %j and says what it takes', (_name, parse: (text: string) => unknown, word, must) => {
    expect(() => parse(word)).toThrow(must);
  });
});
