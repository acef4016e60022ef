import { z } from 'zod';

export const serviceNames = [
  'gateway',
  'runner-gateway',
  'run-specs',
  'runs',
  'gate',
  'approvals',
  'llm-facade',
  'scheduler',
  'delivery',
  'projector',
] as const;
export const ServiceName = z.enum(serviceNames);
export type ServiceName = z.infer<typeof ServiceName>;

/** `.fluidbox/secrets/<service>.json`, mode 0600: what one service may open. */
export const ServiceSecrets = z.strictObject({
  database_url: z.string(),
  nats_url: z.string(),
  nats_user: z.string(),
  nats_password: z.string(),
});
export type ServiceSecrets = z.infer<typeof ServiceSecrets>;

/** `.fluidbox/up.json`: where the live stack is. Secrets stay in files of mode 0600 that are only named here. */
export const UpFile = z.strictObject({
  deployment_id: z.string(),
  pid: z.number().int(),
  pid_started_at: z.string(),
  started_at: z.string(),
  mode: z.enum(['all-in-one', 'processes']),
  public_url: z.string(),
  control_url: z.string(),
  llm_url: z.string(),
  nats_url: z.string(),
  database_host: z.string(),
  files: z.strictObject({ admin_token: z.string(), secrets_dir: z.string(), kek: z.string(), ledger_public_key: z.string() }),
  processes: z.array(z.strictObject({ name: z.string(), pid: z.number().int(), started: z.string() })),
});
export type UpFile = z.infer<typeof UpFile>;

/**
 * Environment of a service. `FLUIDBOX_SECRETS_FILE` names its ServiceSecrets file; in all-in-one `FLUIDBOX_SECRETS_DIR` holds one file per service.
 * Each further variable is read only by the services named.
 */
export const environmentVariables = {
  FLUIDBOX_SECRETS_FILE: 'every service run alone: path of its secrets file',
  FLUIDBOX_SECRETS_DIR: 'all-in-one: folder with <service>.json for each',
  FLUIDBOX_HOME: 'deployment, scheduler: folder for data (default: .fluidbox)',
  FLUIDBOX_DEPLOYMENT_ID: 'scheduler: names this deployment; only its own sandboxes are adopted or ended',
  FLUIDBOX_KEK_FILE: 'runs, run-specs, gate, approvals, gateway, llm-facade: the 32-byte key-encryption key, hex',
  FLUIDBOX_TOKEN_KEY_FILE: 'runs: Ed25519 private key (PEM) that signs run tokens',
  FLUIDBOX_TOKEN_PUBLIC_KEYS_FILE: 'runner-gateway, llm-facade: JWKS of the run-token keys',
  FLUIDBOX_LEDGER_KEY_FILE: 'projector: Ed25519 private key (PEM) that signs checkpoints',
  FLUIDBOX_WITNESS_FILE: 'projector: file that every signed head is appended to, best on the disk of another machine (default: none)',
  FLUIDBOX_LEDGER_PUBLIC_KEYS_FILE: 'gateway: JWKS of all keys that ever signed checkpoints, published at /v1/keys',
  FLUIDBOX_ADMIN_TOKEN_FILE: 'gateway: the bootstrap admin token',
  FLUIDBOX_DELIVERY_KEY_FILE: 'delivery: the 32-byte key that seals URLs and secrets of webhooks, hex',
  FLUIDBOX_PUBLIC_URL: 'delivery: base URL that links in webhooks begin with (default: where the gateway listens)',
  FLUIDBOX_WEBHOOK_PRIVATE_HOSTS:
    'delivery: comma-separated hosts (or host:port) of webhook URLs that may be http and may have a private address (default: none)',
  FLUIDBOX_PUBLIC_PORT: 'gateway: public listener (default 8787; 0 = any free port)',
  FLUIDBOX_CONTROL_PORT: 'runner-gateway: internal listener (default 8788; 0 = any free port)',
  FLUIDBOX_LLM_PORT: 'llm-facade: internal listener (default 8789; 0 = any free port)',
  FLUIDBOX_BIND_ADDRESS: 'gateway, runner-gateway, llm-facade: address of the listener (default 127.0.0.1)',
  FLUIDBOX_UP_FILE: 'scheduler: up.json, which sandbox supervisors read for the control and llm URLs at each connection',
  FLUIDBOX_BLOBS_DIR: 'scheduler, runner-gateway, gateway, runs: folder of sealed archives and artifacts',
  FLUIDBOX_IMAGES_DIR: 'run-specs, scheduler: folder of runner images (default: images/ of this checkout)',
  FLUIDBOX_PRICE_TABLE_FILE: 'run-specs: JSON price table instead of the list prices',
  FLUIDBOX_RUNS_DIR: 'scheduler: folder of workspaces and sandbox state',
  FLUIDBOX_LOCAL_SOURCES: 'run-specs, scheduler: colon-separated absolute paths that local_copy and local git may read (default: none)',
  FLUIDBOX_PRIVATE_GIT_HOSTS: 'scheduler: comma-separated hosts of https clone URLs that may have a private address (default: none)',
  FLUIDBOX_SANDBOXES_MAX: 'scheduler: sandboxes at once, further runs wait in order (default 8)',
  FLUIDBOX_SANDBOX_MEMORY_MB: 'scheduler: memory of one sandbox in MiB (default 2048)',
  FLUIDBOX_SANDBOX_PIDS: 'scheduler: processes of one sandbox (default 512)',
  FLUIDBOX_SANDBOX_CPUS: 'scheduler: processors of one sandbox (default 2)',
  FLUIDBOX_WORKSPACE_FILES_MAX: 'scheduler: files a workspace source may have (default 100000)',
  FLUIDBOX_WORKSPACE_MB_MAX: 'scheduler: MiB a workspace source may have (default 2048)',
  FLUIDBOX_HEARTBEAT_SILENCE_SECS: 'runs: silence of a runner after which its sandbox is ended (default 60)',
  FLUIDBOX_ANTHROPIC_URL: 'llm-facade: upstream base URL (default https://api.anthropic.com)',
  FLUIDBOX_ANTHROPIC_KEY_FILE: 'llm-facade: file with the upstream key',
  FLUIDBOX_OPENAI_URL: 'llm-facade: upstream base URL of the OpenAI dialect, without /v1 (default https://api.openai.com)',
  FLUIDBOX_OPENAI_KEY_FILE: 'llm-facade: file with the upstream key of the OpenAI dialect',
  FLUIDBOX_UPSTREAM_PRIVATE_HOSTS:
    'llm-facade: comma-separated hosts (or host:port) of upstreams of organisations that may be http and may have a private address (default: none)',
  FLUIDBOX_LOG_LEVEL: 'every service: pino level (default info)',
  FLUIDBOX_LOG_FILE: 'every service: file the log is appended to (default: stderr; never stdout, which belongs to the command)',
} as const;
export type EnvironmentVariable = keyof typeof environmentVariables;

/** Sent over the process channel, where there is one, once the service listens, is subscribed and has recovered. */
export const ServiceReady = z.strictObject({ type: z.literal('ready'), service: ServiceName });
export type ServiceReady = z.infer<typeof ServiceReady>;
