import { z } from 'zod';

const port = z.coerce.number().int().min(0).max(65_535);

/** Settings of the gateway; names and meanings stand in `contracts/deployment.ts`. */
export const GatewayConfig = z
  .object({
    FLUIDBOX_PUBLIC_PORT: port.default(8787),
    FLUIDBOX_BIND_ADDRESS: z.string().default('127.0.0.1'),
    FLUIDBOX_ADMIN_TOKEN_FILE: z.string({
      error: 'set FLUIDBOX_ADMIN_TOKEN_FILE to the file with the bootstrap admin token (`fluidbox up` writes one)',
    }),
    FLUIDBOX_BLOBS_DIR: z.string({ error: 'set FLUIDBOX_BLOBS_DIR to the folder of sealed archives and artifacts' }),
  })
  .transform((env) => ({
    port: env.FLUIDBOX_PUBLIC_PORT,
    address: env.FLUIDBOX_BIND_ADDRESS,
    adminTokenFile: env.FLUIDBOX_ADMIN_TOKEN_FILE,
    blobsDir: env.FLUIDBOX_BLOBS_DIR,
  }));
export type GatewayConfig = z.output<typeof GatewayConfig>;
