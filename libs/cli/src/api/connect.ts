import type { UpFile } from '@fluidbox/contracts';
import { exitCodes } from '../exit-codes';
import { CommandFailure } from '../failure';
import type { LocalStack } from '../local-stack';
import { readNamedText } from '../named-file';
import { ApiClient } from './client';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Whom a command talks to. */
export interface Connection {
  readonly api: ApiClient;
  /** False when this command started the stack, which then ends with it. */
  readonly stackStays: boolean;
}

/**
 * Whom a command talks to: FLUIDBOX_API_URL with FLUIDBOX_TOKEN (or FLUIDBOX_TOKEN_FILE) when set, else the stack of this folder, which `withLocalStack`
 * starts for the duration when none is up. Locally the bootstrap admin token is used unless FLUIDBOX_TOKEN says otherwise.
 */
export async function withApi<T>(
  environment: Environment,
  withLocalStack: (work: (stack: LocalStack) => Promise<T>) => Promise<T>,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const given = tokenOf(environment);
  const { FLUIDBOX_API_URL: url } = environment;
  if (url !== undefined) return work({ api: remoteApi(url, given), stackStays: true });
  return withLocalStack(({ up, started }) =>
    work({ api: new ApiClient({ url: up.public_url, token: given ?? adminToken(up) }), stackStays: !started }),
  );
}

const adminToken = (up: UpFile): string => readNamedText(up.files.admin_token, 'admin token').trim();

function tokenOf({ FLUIDBOX_TOKEN: token, FLUIDBOX_TOKEN_FILE: file }: Environment): string | undefined {
  if (token?.trim() === '') throw new CommandFailure('FLUIDBOX_TOKEN: is empty; set it to a token, or unset it', exitCodes.usage);
  if (token !== undefined || file === undefined) return token;
  const held = readNamedText(file, 'FLUIDBOX_TOKEN_FILE').trim();
  if (held === '')
    throw new CommandFailure(`FLUIDBOX_TOKEN_FILE ${file}: is empty; it must hold the token and nothing else`, exitCodes.usage);
  return held;
}

function remoteApi(url: string, token: string | undefined): ApiClient {
  if (!URL.canParse(url) || !['http:', 'https:'].includes(new URL(url).protocol))
    throw new CommandFailure(`FLUIDBOX_API_URL: ${url} is not an http or https URL, such as http://127.0.0.1:8787`, exitCodes.usage);
  if (token === undefined)
    throw new CommandFailure('FLUIDBOX_API_URL is set: set FLUIDBOX_TOKEN or FLUIDBOX_TOKEN_FILE too', exitCodes.usage);
  return new ApiClient({ url, token });
}
