const escaped = /["\\]/g;
const needsEscape = /["\\]/;

/**
 * An array of texts, numbers and booleans as Postgres writes it. The driver does the same with two replacements for each element, which took as long as all
 * else about a batch. An array with anything else in it is left to the driver.
 */
export function arrayText(values: readonly unknown[]): unknown {
  let text = '{';
  for (const value of values) {
    if (text.length > 1) text += ',';
    if (value === null) text += 'NULL';
    else if (typeof value === 'string') text += `"${needsEscape.test(value) ? value.replace(escaped, '\\$&') : value}"`;
    else if (typeof value === 'number' || typeof value === 'boolean') text += value;
    else return values;
  }
  return `${text}}`;
}
