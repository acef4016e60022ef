import { addSeen, type Check, type Keyword, nothingSeen, SchemaProblem } from './run';

const alternatives = (value: unknown, where: string, compiling: Parameters<Keyword>[2]): Check[] => {
  if (!Array.isArray(value) || value.length === 0) throw new SchemaProblem(where, 'must be a list of schemas');
  return value.map((schema, i) => compiling.schema(schema, `${where}/${i}`));
};

const allOf: Keyword = (wanted, where, compiling) => {
  const checks = alternatives(wanted, where, compiling);
  return (value, at, run, seen) => checks.reduce((good, check) => check(value, at, run, seen) && good, true);
};

const passing = (checks: readonly Check[], ...[value, at, run, seen]: Parameters<Check>): number =>
  checks.filter((check) => {
    const own = nothingSeen();
    const passes = run.quietly(() => check(value, at, run, own));
    if (passes) addSeen(seen, own);
    return passes;
  }).length;

const anyOf: Keyword = (wanted, where, compiling) => {
  const checks = alternatives(wanted, where, compiling);
  return (value, at, run, seen) =>
    passing(checks, value, at, run, seen) > 0 || run.fault(at, 'fits none of the forms that the schema allows');
};
const oneOf: Keyword = (wanted, where, compiling) => {
  const checks = alternatives(wanted, where, compiling);
  return (value, at, run, seen) => {
    const fits = passing(checks, value, at, run, seen);
    return (
      fits === 1 || run.fault(at, fits === 0 ? 'fits none of the forms that the schema allows' : `fits ${fits} forms, and must fit one`)
    );
  };
};

const not: Keyword = (wanted, where, compiling) => {
  const check = compiling.schema(wanted, where);
  return (value, at, run) =>
    !run.quietly(() => check(value, at, run, nothingSeen())) || run.fault(at, 'has a form that the schema excludes');
};

const condition: Keyword = (wanted, where, compiling, schema) => {
  const test = compiling.schema(wanted, where);
  const yes = schema.then === undefined ? null : compiling.schema(schema.then, where.replace(/if$/, 'then'));
  const no = schema.else === undefined ? null : compiling.schema(schema.else, where.replace(/if$/, 'else'));
  return (value, at, run, seen) => {
    const own = nothingSeen();
    const holds = run.quietly(() => test(value, at, run, own));
    if (holds) addSeen(seen, own);
    return (holds ? yes : no)?.(value, at, run, seen) ?? true;
  };
};

export const combiningKeywords: Readonly<Record<string, Keyword>> = { allOf, anyOf, oneOf, not, if: condition };
