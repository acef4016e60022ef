import { canonical } from '../canonical';
import { isMultipleOf } from './decimal';
import { type Check, type Keyword, SchemaProblem } from './run';

const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  string: (value) => typeof value === 'string',
  array: Array.isArray,
  object: (value) => value !== null && typeof value === 'object' && !Array.isArray(value),
};

const type: Keyword = (wanted, where) => {
  const names = Array.isArray(wanted) ? wanted : [wanted];
  const tests = names.map((name) => {
    const test = typeof name === 'string' && Object.hasOwn(types, name) ? types[name] : undefined;
    if (test === undefined) throw new SchemaProblem(where, 'is not a type');
    return test;
  });
  const reason = `must be ${names.join(' or ')}`;
  return (value, at, run) => tests.some((test) => test(value)) || run.fault(at, reason);
};

const enumeration: Keyword = (wanted, where) => {
  if (!Array.isArray(wanted)) throw new SchemaProblem(where, 'must be a list');
  return oneOf(wanted, 'must be one of the values that the schema lists');
};
const constant: Keyword = (wanted) => oneOf([wanted], 'must be the one value that the schema gives');

const isScalar = (value: unknown): boolean => value === null || typeof value !== 'object';
function oneOf(wanted: readonly unknown[], reason: string): Check {
  const scalars = new Set(wanted.filter(isScalar));
  const others = new Set(wanted.filter((one) => !isScalar(one)).map(canonical));
  return (value, at, run) =>
    (isScalar(value) ? scalars.has(value) : others.size > 0 && others.has(run.canonical(value))) || run.fault(at, reason);
}

const number = (wanted: unknown, where: string): number => {
  if (typeof wanted !== 'number') throw new SchemaProblem(where, 'must be a number');
  return wanted;
};
const compared =
  (says: string, holds: (value: number, limit: number) => boolean): Keyword =>
  (wanted, where) => {
    const limit = number(wanted, where);
    return (value, at, run) => typeof value !== 'number' || holds(value, limit) || run.fault(at, `must be ${says} ${limit}`);
  };

const multipleOf: Keyword = (wanted, where) => {
  const step = number(wanted, where);
  if (!(step > 0)) throw new SchemaProblem(where, 'must be above 0');
  return (value, at, run) => typeof value !== 'number' || isMultipleOf(value, step) || run.fault(at, `must be a multiple of ${step}`);
};

export const size = (wanted: unknown, where: string): number => {
  if (!Number.isInteger(wanted) || Number(wanted) < 0) throw new SchemaProblem(where, 'must be a whole number from 0');
  return Number(wanted);
};
/** In characters as Unicode counts them; text with fewer code units than the limit needs no counting. */
const charsOf = (text: string): number => [...text].length;

const maxLength: Keyword = (wanted, where) => {
  const limit = size(wanted, where);
  return (value, at, run) =>
    typeof value !== 'string' || value.length <= limit || charsOf(value) <= limit || run.fault(at, `must have at most ${limit} characters`);
};
const minLength: Keyword = (wanted, where) => {
  const limit = size(wanted, where);
  return (value, at, run) =>
    typeof value !== 'string' || charsOf(value) >= limit || run.fault(at, `must have at least ${limit} characters`);
};
const pattern: Keyword = (wanted, where, compiling) => {
  const compiled = compiling.pattern(wanted, where);
  const reason = `must match ${compiled.source.slice(0, 120)}`;
  return (value, at, run) => typeof value !== 'string' || run.matches(compiled, value) || run.fault(at, reason);
};

export const scalarKeywords: Readonly<Record<string, Keyword>> = {
  type,
  enum: enumeration,
  const: constant,
  maximum: compared('at most', (value, limit) => value <= limit),
  minimum: compared('at least', (value, limit) => value >= limit),
  exclusiveMaximum: compared('below', (value, limit) => value < limit),
  exclusiveMinimum: compared('above', (value, limit) => value > limit),
  multipleOf,
  maxLength,
  minLength,
  pattern,
};
