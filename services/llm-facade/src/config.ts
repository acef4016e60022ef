import { z } from 'zod';

const port = z.coerce.number().int().min(0).max(65_535);

/** Settings of llm-facade. Nothing else in this service reads the environment. */
export const config = z
  .object({
    FLUIDBOX_LLM_PORT: port.default(8789),
    FLUIDBOX_BIND_ADDRESS: z.string().default('127.0.0.1'),
    FLUIDBOX_TOKEN_PUBLIC_KEYS_FILE: z.string({
      error: 'must name the JWKS of the keys that sign run tokens (`fluidbox up` writes one)',
    }),
    FLUIDBOX_ANTHROPIC_URL: z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' }).default('https://api.anthropic.com'),
    // Without one every model request is refused with the reason; runs of other harnesses do not need it.
    FLUIDBOX_ANTHROPIC_KEY_FILE: z.string().min(1).optional(),
  })
  .transform((environment) => ({
    port: environment.FLUIDBOX_LLM_PORT,
    address: environment.FLUIDBOX_BIND_ADDRESS,
    tokenPublicKeysFile: environment.FLUIDBOX_TOKEN_PUBLIC_KEYS_FILE,
    anthropicUrl: environment.FLUIDBOX_ANTHROPIC_URL,
    anthropicKeyFile: environment.FLUIDBOX_ANTHROPIC_KEY_FILE,
  }));
export type Config = z.output<typeof config>;
