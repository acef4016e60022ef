import { InvalidArgumentError } from 'commander';

// What options are parsed to. A wrong word ends the command before a stack is started, and names the option.

const refuse = (must: string): never => {
  throw new InvalidArgumentError(must);
};

export const positive = (text: string): number => {
  const value = Number(text);
  return Number.isFinite(value) && value > 0 ? value : refuse('must be a number above 0');
};

const wholeFrom =
  (least: 0 | 1) =>
  (text: string): number =>
    /^\d{1,15}$/.test(text) && Number(text) >= least ? Number(text) : refuse(`must be a whole number from ${least} on`);
export const whole = wholeFrom(1);
export const wholeOrZero = wholeFrom(0);

export const wholeUpTo =
  (most: number) =>
  (text: string): number =>
    /^[1-9]\d{0,8}$/.test(text) && Number(text) <= most ? Number(text) : refuse(`must be a whole number from 1 to ${most}`);

/** A day that the calendar has. */
export const day = (text: string): string => {
  const date = /^\d{4}-\d{2}-\d{2}$/.test(text) ? new Date(`${text}T00:00:00Z`) : new Date(Number.NaN);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text) ? text : refuse('must be a day such as 2026-11-30');
};

export const time = (text: string): string =>
  Number.isNaN(Date.parse(text)) ? refuse('must be a time such as 2026-11-01 or 2026-11-01T08:00:00Z') : text;

/** Money is counted in millionths of a dollar: less would be none at all, which stops everything. */
const leastUsd = 1e-6;

/** `none` stays a word: an option that is parsed to null comes out as an empty text. */
export const dollarsOrNone = (text: string): number | 'none' => {
  if (text === 'none') return text;
  const value = text.trim() === '' ? Number.NaN : Number(text);
  return value === 0 || (Number.isFinite(value) && value >= leastUsd)
    ? value
    : refuse('must be 0, a number of dollars from 0.000001 on, or none');
};

export const dollars = (text: string): number => {
  const value = Number(text);
  return Number.isFinite(value) && value >= leastUsd ? value : refuse('must be a number of dollars above 0, 0.000001 at least');
};

/** A thumbprint of a key (RFC 7638): anything else could be no signer of any record. */
export const thumbprint = (text: string): string =>
  /^[\w-]{43}$/.test(text) ? text : refuse('must be the thumbprint of a key, 43 characters, as keys list prints them');

export const jsonObject = (text: string): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (cause) {
    return refuse(`not JSON: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  return refuse('must be a JSON object');
};
