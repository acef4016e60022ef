import { type Check, inside, isObject, type Keyword, nothingSeen, SchemaProblem } from './run';
import { size } from './scalar-keywords';

const schemasOf = (value: unknown, where: string): [string, unknown][] => {
  if (!isObject(value)) throw new SchemaProblem(where, 'must be an object of schemas');
  return Object.entries(value);
};
const namesOf = (value: unknown, where: string): string[] => {
  if (!Array.isArray(value) || !value.every((name) => typeof name === 'string')) throw new SchemaProblem(where, 'must be a list of names');
  return value;
};

const properties: Keyword = (wanted, where, compiling) => {
  const checks = schemasOf(wanted, where).map(([name, schema]) => [name, compiling.schema(schema, `${where}/${name}`)] as const);
  return (value, at, run, seen) => {
    if (!isObject(value)) return true;
    let good = true;
    for (const [name, check] of checks) {
      if (!Object.hasOwn(value, name)) continue;
      seen.names.add(name);
      good = check(value[name], inside(at, name), run, nothingSeen()) && good;
    }
    return good;
  };
};

const patternProperties: Keyword = (wanted, where, compiling) => {
  const checks = schemasOf(wanted, where).map(
    ([source, schema]) => [compiling.pattern(source, where), compiling.schema(schema, `${where}/${source}`)] as const,
  );
  return (value, at, run, seen) => {
    if (!isObject(value)) return true;
    let good = true;
    for (const [name, item] of Object.entries(value))
      for (const [pattern, check] of checks) {
        if (!run.matches(pattern, name)) continue;
        seen.names.add(name);
        good = check(item, inside(at, name), run, nothingSeen()) && good;
      }
    return good;
  };
};

const restCheck = (schema: unknown, where: string, compiling: Parameters<Keyword>[2]): Check =>
  schema === false ? (_value, at, run) => run.fault(at, 'is not a property of this tool') : compiling.schema(schema, where);

const additionalProperties: Keyword = (wanted, where, compiling, schema) => {
  const named = new Set(isObject(schema.properties) ? Object.keys(schema.properties) : []);
  const patterns = isObject(schema.patternProperties)
    ? Object.keys(schema.patternProperties).map((source) => compiling.pattern(source, where))
    : [];
  const check = restCheck(wanted, where, compiling);
  return (value, at, run, seen) => {
    if (!isObject(value)) return true;
    let good = true;
    for (const [name, item] of Object.entries(value)) {
      if (named.has(name) || patterns.some((pattern) => run.matches(pattern, name))) continue;
      seen.names.add(name);
      good = check(item, inside(at, name), run, nothingSeen()) && good;
    }
    return good;
  };
};

const unevaluatedProperties: Keyword = (wanted, where, compiling) => {
  const check = restCheck(wanted, where, compiling);
  return (value, at, run, seen) => {
    if (!isObject(value)) return true;
    let good = true;
    for (const [name, item] of Object.entries(value)) {
      if (seen.names.has(name)) continue;
      seen.names.add(name);
      good = check(item, inside(at, name), run, nothingSeen()) && good;
    }
    return good;
  };
};

const required: Keyword = (wanted, where) => {
  const names = namesOf(wanted, where);
  return (value, at, run) => {
    if (!isObject(value)) return true;
    const missing = names.filter((name) => !Object.hasOwn(value, name));
    for (const name of missing) run.fault(inside(at, name), 'is missing');
    return missing.length === 0;
  };
};

const propertyNames: Keyword = (wanted, where, compiling) => {
  const check = compiling.schema(wanted, where);
  return (value, at, run) =>
    !isObject(value) ||
    Object.keys(value).every(
      (name) => run.quietly(() => check(name, at, run, nothingSeen())) || run.fault(inside(at, name), 'has a name that is not allowed'),
    );
};

const maxProperties: Keyword = (wanted, where) => {
  const limit = size(wanted, where);
  return (value, at, run) =>
    !isObject(value) || Object.keys(value).length <= limit || run.fault(at, `must have at most ${limit} properties`);
};
const minProperties: Keyword = (wanted, where) => {
  const limit = size(wanted, where);
  return (value, at, run) =>
    !isObject(value) || Object.keys(value).length >= limit || run.fault(at, `must have at least ${limit} properties`);
};

const dependentRequired: Keyword = (wanted, where, compiling, schema) => {
  const rows = schemasOf(wanted, where).map(
    ([name, names]) => [name, required(namesOf(names, `${where}/${name}`), where, compiling, schema)] as const,
  );
  return (value, at, run, seen) =>
    rows.every(([name, check]) => !isObject(value) || !Object.hasOwn(value, name) || check(value, at, run, seen));
};
const dependentSchemas: Keyword = (wanted, where, compiling) => {
  const rows = schemasOf(wanted, where).map(([name, schema]) => [name, compiling.schema(schema, `${where}/${name}`)] as const);
  return (value, at, run, seen) =>
    rows.every(([name, check]) => !isObject(value) || !Object.hasOwn(value, name) || check(value, at, run, seen));
};
/** The older spelling of both. */
const dependencies: Keyword = (wanted, where, compiling, schema) => {
  const entries = schemasOf(wanted, where);
  const lists = Object.fromEntries(entries.filter(([, entry]) => Array.isArray(entry)));
  const schemas = Object.fromEntries(entries.filter(([, entry]) => !Array.isArray(entry)));
  const checks = [dependentRequired(lists, where, compiling, schema), dependentSchemas(schemas, where, compiling, schema)];
  return (value, at, run, seen) => checks.every((check) => check(value, at, run, seen));
};

export const objectKeywords: Readonly<Record<string, Keyword>> = {
  properties,
  patternProperties,
  additionalProperties,
  required,
  propertyNames,
  maxProperties,
  minProperties,
  dependentRequired,
  dependentSchemas,
  dependencies,
};
export const lastObjectKeywords: Readonly<Record<string, Keyword>> = { unevaluatedProperties };
