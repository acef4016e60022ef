import { z } from 'zod';

/** Settings of runs. Nothing else in this service reads the environment. */
export const config = z
  .object({
    FLUIDBOX_TOKEN_KEY_FILE: z.string({ error: 'must name the Ed25519 private key (PEM, 0600) that signs run tokens' }).min(1),
    FLUIDBOX_BLOBS_DIR: z.string({ error: 'must name the folder of sealed archives and artifacts' }).min(1),
    FLUIDBOX_HEARTBEAT_SILENCE_SECS: z.coerce.number().int().min(1).max(3_600).default(60),
  })
  .transform((environment) => ({
    tokenKeyFile: environment.FLUIDBOX_TOKEN_KEY_FILE,
    blobsDir: environment.FLUIDBOX_BLOBS_DIR,
    heartbeatSilenceMs: environment.FLUIDBOX_HEARTBEAT_SILENCE_SECS * 1_000,
  }));
export type Config = z.output<typeof config>;
