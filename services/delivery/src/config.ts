import { z } from 'zod';

const httpUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http(s) URL' })
  .refine((text) => !/[?#@]/.test(text), 'must have no query, fragment, user or password')
  .transform((text) => text.replace(/\/+$/, ''));

/** Settings of delivery. Nothing else in this service reads the environment. */
export const config = z
  .object({
    FLUIDBOX_DELIVERY_KEY_FILE: z.string({ error: 'must name the file with the key that seals webhook secrets (openssl rand -hex 32)' }),
    FLUIDBOX_PUBLIC_URL: httpUrl.default('http://127.0.0.1:8787'),
    FLUIDBOX_WEBHOOK_PRIVATE_HOSTS: z.string().default(''),
  })
  .transform((environment) => ({
    keyFile: environment.FLUIDBOX_DELIVERY_KEY_FILE,
    publicUrl: environment.FLUIDBOX_PUBLIC_URL,
    privateHosts: environment.FLUIDBOX_WEBHOOK_PRIVATE_HOSTS.split(',')
      .map((host) => host.trim().toLowerCase())
      .filter(Boolean),
  }));
export type Config = z.output<typeof config>;
