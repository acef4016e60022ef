import { type Command, InvalidArgumentError } from 'commander';

export const withJson = (command: Command): Command => command.option('--json', 'machine-readable output');

export const jsonObject = (text: string): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (cause) {
    throw new InvalidArgumentError(`not JSON: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  throw new InvalidArgumentError('must be a JSON object');
};
