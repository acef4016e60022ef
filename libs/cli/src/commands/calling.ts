import type { ApiClient } from '../api/client';
import { type Connection, withApi } from '../api/connect';
import { CommandFailure } from '../failure';
import { type LocalStack, withLocalStack } from '../local-stack';
import { type Output, standardOutput } from '../output';

// How a command does its work and ends: its exit code is thrown, because commander knows no other way out.

const ended = (code: number): void => {
  if (code !== 0) throw new CommandFailure('', code);
};

/** Runs `work` against the API. `sources`: folders that a stack started for it may copy. */
export async function connected(
  json: boolean | undefined,
  work: (connection: Connection, output: Output) => Promise<number>,
  sources: readonly string[] = [],
): Promise<void> {
  const output = standardOutput(json === true);
  const withSources = (use: (stack: LocalStack) => Promise<number>): Promise<number> => withLocalStack(use, { sources });
  ended(await withApi<number>(process.env, withSources, (connection) => work(connection, output)));
}

/** The same for what needs the API and nothing of the stack. */
export const call = (json: boolean | undefined, work: (api: ApiClient, output: Output) => Promise<number>): Promise<void> =>
  connected(json, ({ api }, output) => work(api, output));

/** Works on files alone: no stack, no network. */
export const onFiles = async (json: boolean | undefined, work: (output: Output) => number | Promise<number>): Promise<void> =>
  ended(await work(standardOutput(json === true)));
