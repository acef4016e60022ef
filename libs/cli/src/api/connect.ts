import fs from 'node:fs';
import type { UpFile } from '@fluidbox/contracts';
import { ApiClient } from './client';

/**
 * Whom a command talks to: FLUIDBOX_API_URL with FLUIDBOX_TOKEN (or FLUIDBOX_TOKEN_FILE) when set, else the stack of this folder, which `withLocalStack`
 * starts for the duration when none is up. Locally the bootstrap admin token is used unless FLUIDBOX_TOKEN says otherwise.
 */
export async function withApi<T>(
  environment: Readonly<Record<string, string | undefined>>,
  withLocalStack: (work: (up: UpFile) => Promise<T>) => Promise<T>,
  work: (api: ApiClient) => Promise<T>,
): Promise<T> {
  const tokenFile = environment.FLUIDBOX_TOKEN_FILE;
  const given = environment.FLUIDBOX_TOKEN ?? (tokenFile === undefined ? undefined : fs.readFileSync(tokenFile, 'utf8').trim());
  if (environment.FLUIDBOX_API_URL !== undefined) {
    if (given === undefined) throw new Error('FLUIDBOX_API_URL is set: set FLUIDBOX_TOKEN or FLUIDBOX_TOKEN_FILE too');
    return work(new ApiClient({ url: environment.FLUIDBOX_API_URL, token: given }));
  }
  return withLocalStack((up) =>
    work(new ApiClient({ url: up.public_url, token: given ?? fs.readFileSync(up.files.admin_token, 'utf8').trim() })),
  );
}
