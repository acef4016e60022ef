import { z } from 'zod';

/** Settings of runner-gateway. Nothing else in this service reads the environment. */
export const config = z
  .object({
    FLUIDBOX_CONTROL_PORT: z.coerce.number().int().min(0).max(65_535).default(8788),
    FLUIDBOX_BIND_ADDRESS: z.string().min(1).default('127.0.0.1'),
    FLUIDBOX_TOKEN_PUBLIC_KEYS_FILE: z.string({ error: 'must name the JWKS of the keys that sign run tokens' }).min(1),
    FLUIDBOX_BLOBS_DIR: z.string({ error: 'must name the folder of sealed archives' }).min(1),
  })
  .transform((environment) => ({
    port: environment.FLUIDBOX_CONTROL_PORT,
    address: environment.FLUIDBOX_BIND_ADDRESS,
    tokenPublicKeysFile: environment.FLUIDBOX_TOKEN_PUBLIC_KEYS_FILE,
    blobsDir: environment.FLUIDBOX_BLOBS_DIR,
  }));
export type Config = z.output<typeof config>;
