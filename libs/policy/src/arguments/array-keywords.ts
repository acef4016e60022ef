import { type Check, type Compiling, inside, type Keyword, nothingSeen, SchemaProblem } from './run';
import { size } from './scalar-keywords';

const checksOf = (value: unknown, where: string, compiling: Compiling): Check[] => {
  if (!Array.isArray(value)) throw new SchemaProblem(where, 'must be a list of schemas');
  return value.map((schema, i) => compiling.schema(schema, `${where}/${i}`));
};

const first =
  (checks: readonly Check[]): Check =>
  (value, at, run, seen) => {
    if (!Array.isArray(value)) return true;
    let good = true;
    checks.slice(0, value.length).forEach((check, i) => {
      seen.items.add(i);
      good = check(value[i], inside(at, i), run, nothingSeen()) && good;
    });
    return good;
  };
const rest =
  (check: Check, from: number): Check =>
  (value, at, run, seen) => {
    if (!Array.isArray(value)) return true;
    let good = true;
    for (let i = from; i < value.length; i++) {
      seen.items.add(i);
      good = check(value[i], inside(at, i), run, nothingSeen()) && good;
    }
    return good;
  };

const prefixItems: Keyword = (wanted, where, compiling) => first(checksOf(wanted, where, compiling));
const items: Keyword = (wanted, where, compiling, schema) => {
  if (!Array.isArray(wanted))
    return rest(compiling.schema(wanted, where), Array.isArray(schema.prefixItems) ? schema.prefixItems.length : 0);
  if (compiling.dialect === '2020-12') throw new SchemaProblem(where, 'must be a schema; lists of them are called prefixItems');
  return first(checksOf(wanted, where, compiling));
};
const additionalItems: Keyword = (wanted, where, compiling, schema) =>
  Array.isArray(schema.items) ? rest(compiling.schema(wanted, where), schema.items.length) : () => true;

const unevaluatedItems: Keyword = (wanted, where, compiling) => {
  const check = compiling.schema(wanted, where);
  return (value, at, run, seen) => {
    if (!Array.isArray(value)) return true;
    let good = true;
    value.forEach((item, i) => {
      if (seen.items.has(i)) return;
      seen.items.add(i);
      good = check(item, inside(at, i), run, nothingSeen()) && good;
    });
    return good;
  };
};

const contains: Keyword = (wanted, where, compiling, schema) => {
  const check = compiling.schema(wanted, where);
  const min = schema.minContains === undefined ? 1 : size(schema.minContains, where);
  const max = schema.maxContains === undefined ? Number.POSITIVE_INFINITY : size(schema.maxContains, where);
  return (value, at, run, seen) => {
    if (!Array.isArray(value)) return true;
    const found = value.flatMap((item, i) => (run.quietly(() => check(item, inside(at, i), run, nothingSeen())) ? [i] : []));
    for (const i of found) seen.items.add(i);
    if (found.length < min) return run.fault(at, `must contain at least ${min} items of the kind that the schema names`);
    return found.length <= max || run.fault(at, `must contain at most ${max} items of the kind that the schema names`);
  };
};

const uniqueItems: Keyword = (wanted) => (value, at, run) =>
  wanted !== true ||
  !Array.isArray(value) ||
  new Set(value.map((item) => run.canonical(item))).size === value.length ||
  run.fault(at, 'must not have the same item twice');

const maxItems: Keyword = (wanted, where) => {
  const limit = size(wanted, where);
  return (value, at, run) => !Array.isArray(value) || value.length <= limit || run.fault(at, `must have at most ${limit} items`);
};
const minItems: Keyword = (wanted, where) => {
  const limit = size(wanted, where);
  return (value, at, run) => !Array.isArray(value) || value.length >= limit || run.fault(at, `must have at least ${limit} items`);
};

export const arrayKeywords: Readonly<Record<string, Keyword>> = {
  prefixItems,
  items,
  additionalItems,
  contains,
  uniqueItems,
  maxItems,
  minItems,
};
export const lastArrayKeywords: Readonly<Record<string, Keyword>> = { unevaluatedItems };
