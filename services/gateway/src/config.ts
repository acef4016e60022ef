import { z } from 'zod';

const port = z.coerce.number().int().min(0).max(65_535);

/** Settings of the gateway. Nothing else in this service reads the environment. */
export const config = z
  .object({
    FLUIDBOX_PUBLIC_PORT: port.default(8787),
    FLUIDBOX_BIND_ADDRESS: z.string().default('127.0.0.1'),
    FLUIDBOX_ADMIN_TOKEN_FILE: z.string({
      error: 'must name the file with the bootstrap admin token (`fluidbox up` writes one)',
    }),
    FLUIDBOX_LEDGER_PUBLIC_KEYS_FILE: z.string({ error: 'must name the JWKS file of the keys that sign checkpoints' }),
    FLUIDBOX_BLOBS_DIR: z.string({ error: 'must name the folder of sealed archives and artifacts' }),
  })
  .transform((environment) => ({
    port: environment.FLUIDBOX_PUBLIC_PORT,
    address: environment.FLUIDBOX_BIND_ADDRESS,
    adminTokenFile: environment.FLUIDBOX_ADMIN_TOKEN_FILE,
    ledgerPublicKeysFile: environment.FLUIDBOX_LEDGER_PUBLIC_KEYS_FILE,
    blobsDir: environment.FLUIDBOX_BLOBS_DIR,
  }));
export type Config = z.output<typeof config>;
