import { z } from 'zod';
import type { DialectId } from './domain/dialect';

const port = z.coerce.number().int().min(0).max(65_535);
const url = z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' });
// Without one every model request of the dialect is refused with the reason; runs of other harnesses do not need it.
const keyFile = z.string().min(1).optional();

export interface ProviderSettings {
  readonly url: string;
  readonly keyFile: string | undefined;
}

/** Settings of llm-facade. Nothing else in this service reads the environment. */
export const config = z
  .object({
    FLUIDBOX_LLM_PORT: port.default(8789),
    FLUIDBOX_BIND_ADDRESS: z.string().default('127.0.0.1'),
    FLUIDBOX_TOKEN_PUBLIC_KEYS_FILE: z.string({
      error: 'must name the JWKS of the keys that sign run tokens (`fluidbox up` writes one)',
    }),
    FLUIDBOX_ANTHROPIC_URL: url.default('https://api.anthropic.com'),
    FLUIDBOX_ANTHROPIC_KEY_FILE: keyFile,
    FLUIDBOX_OPENAI_URL: url.default('https://api.openai.com'),
    FLUIDBOX_OPENAI_KEY_FILE: keyFile,
    FLUIDBOX_KEK_FILE: z.string({
      error: 'must name the key-encryption key, which seals the keys of upstreams (`fluidbox up` writes one)',
    }),
    FLUIDBOX_UPSTREAM_PRIVATE_HOSTS: z.string().default(''),
  })
  .transform((environment) => {
    const providers: Readonly<Record<DialectId, ProviderSettings>> = {
      anthropic_messages: { url: environment.FLUIDBOX_ANTHROPIC_URL, keyFile: environment.FLUIDBOX_ANTHROPIC_KEY_FILE },
      openai_responses: { url: environment.FLUIDBOX_OPENAI_URL, keyFile: environment.FLUIDBOX_OPENAI_KEY_FILE },
    };
    return {
      port: environment.FLUIDBOX_LLM_PORT,
      address: environment.FLUIDBOX_BIND_ADDRESS,
      tokenPublicKeysFile: environment.FLUIDBOX_TOKEN_PUBLIC_KEYS_FILE,
      providers,
      kekFile: environment.FLUIDBOX_KEK_FILE,
      upstreamPrivateHosts: environment.FLUIDBOX_UPSTREAM_PRIVATE_HOSTS.split(',')
        .map((host) => host.trim().toLowerCase())
        .filter(Boolean),
    };
  });
export type Config = z.output<typeof config>;
