import { z } from 'zod';

const port = z.coerce.number().int().min(0).max(65_535);

/** Settings of the facade; names and meanings stand in `contracts/deployment.ts`. */
export const FacadeConfig = z
  .object({
    FLUIDBOX_LLM_PORT: port.default(8789),
    FLUIDBOX_BIND_ADDRESS: z.string().default('127.0.0.1'),
    FLUIDBOX_TOKEN_PUBLIC_KEYS_FILE: z.string({
      error: 'set FLUIDBOX_TOKEN_PUBLIC_KEYS_FILE to the JWKS of the run-token keys (`fluidbox up` writes one)',
    }),
    FLUIDBOX_ANTHROPIC_URL: z
      .url({ protocol: /^https?$/, error: 'FLUIDBOX_ANTHROPIC_URL must be an http(s) URL' })
      .default('https://api.anthropic.com'),
    // Without one every model request is refused with the reason; runs of other harnesses do not need it.
    FLUIDBOX_ANTHROPIC_KEY_FILE: z.string().min(1).optional(),
  })
  .transform((env) => ({
    port: env.FLUIDBOX_LLM_PORT,
    address: env.FLUIDBOX_BIND_ADDRESS,
    tokenPublicKeysFile: env.FLUIDBOX_TOKEN_PUBLIC_KEYS_FILE,
    anthropicUrl: env.FLUIDBOX_ANTHROPIC_URL,
    anthropicKeyFile: env.FLUIDBOX_ANTHROPIC_KEY_FILE,
  }));
export type FacadeConfig = z.output<typeof FacadeConfig>;
