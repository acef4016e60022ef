import { z } from 'zod';

/** Settings of projector. Nothing else in this service reads the environment. */
export const config = z
  .object({
    FLUIDBOX_LEDGER_KEY_FILE: z.string({ error: 'must name the Ed25519 private key (PEM, 0600) that signs checkpoints' }).min(1),
    FLUIDBOX_WITNESS_FILE: z.string().startsWith('/', 'must be an absolute path').optional(),
  })
  .transform((environment) => ({ ledgerKeyFile: environment.FLUIDBOX_LEDGER_KEY_FILE, witnessFile: environment.FLUIDBOX_WITNESS_FILE }));
export type Config = z.output<typeof config>;
