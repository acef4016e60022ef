import path from 'node:path';
import { type EnvironmentVariable, environmentVariables, type ServiceName } from '@fluidbox/contracts';
import type { HomeLayout } from './layout';
import { toolsBin } from './nats-binary';
import type { ProviderKeys, SecretFiles } from './secrets';

export interface Ports {
  readonly public: number;
  readonly control: number;
  readonly llm: number;
  readonly nats: number;
  readonly postgres: number;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Variables of `libs/contracts/src/deployment.ts` by the service that may see them; a test compares both. */
export const variablesOf: Readonly<Record<ServiceName, readonly EnvironmentVariable[]>> = {
  gateway: [
    'FLUIDBOX_KEK_FILE',
    'FLUIDBOX_ADMIN_TOKEN_FILE',
    'FLUIDBOX_LEDGER_PUBLIC_KEYS_FILE',
    'FLUIDBOX_PUBLIC_PORT',
    'FLUIDBOX_BIND_ADDRESS',
    'FLUIDBOX_BLOBS_DIR',
  ],
  'runner-gateway': ['FLUIDBOX_TOKEN_PUBLIC_KEYS_FILE', 'FLUIDBOX_CONTROL_PORT', 'FLUIDBOX_BIND_ADDRESS', 'FLUIDBOX_BLOBS_DIR'],
  'run-specs': ['FLUIDBOX_KEK_FILE', 'FLUIDBOX_IMAGES_DIR', 'FLUIDBOX_PRICE_TABLE_FILE', 'FLUIDBOX_LOCAL_SOURCES'],
  runs: ['FLUIDBOX_KEK_FILE', 'FLUIDBOX_TOKEN_KEY_FILE', 'FLUIDBOX_HEARTBEAT_SILENCE_SECS', 'FLUIDBOX_BLOBS_DIR'],
  gate: ['FLUIDBOX_KEK_FILE'],
  approvals: ['FLUIDBOX_KEK_FILE'],
  'llm-facade': [
    'FLUIDBOX_KEK_FILE',
    'FLUIDBOX_TOKEN_PUBLIC_KEYS_FILE',
    'FLUIDBOX_LLM_PORT',
    'FLUIDBOX_BIND_ADDRESS',
    'FLUIDBOX_ANTHROPIC_URL',
    'FLUIDBOX_ANTHROPIC_KEY_FILE',
    'FLUIDBOX_OPENAI_URL',
    'FLUIDBOX_OPENAI_KEY_FILE',
    'FLUIDBOX_UPSTREAM_PRIVATE_HOSTS',
  ],
  scheduler: [
    'FLUIDBOX_DEPLOYMENT_ID',
    'FLUIDBOX_UP_FILE',
    'FLUIDBOX_BLOBS_DIR',
    'FLUIDBOX_IMAGES_DIR',
    'FLUIDBOX_RUNS_DIR',
    'FLUIDBOX_LOCAL_SOURCES',
    'FLUIDBOX_PRIVATE_GIT_HOSTS',
    'FLUIDBOX_SANDBOXES_MAX',
    'FLUIDBOX_SANDBOX_MEMORY_MB',
    'FLUIDBOX_SANDBOX_PIDS',
    'FLUIDBOX_SANDBOX_CPUS',
    'FLUIDBOX_WORKSPACE_FILES_MAX',
    'FLUIDBOX_WORKSPACE_MB_MAX',
  ],
  delivery: ['FLUIDBOX_DELIVERY_KEY_FILE', 'FLUIDBOX_PUBLIC_URL', 'FLUIDBOX_WEBHOOK_PRIVATE_HOSTS'],
  projector: ['FLUIDBOX_LEDGER_KEY_FILE', 'FLUIDBOX_WITNESS_FILE'],
};
const everyService: readonly EnvironmentVariable[] = ['FLUIDBOX_SECRETS_FILE', 'FLUIDBOX_HOME', 'FLUIDBOX_LOG_LEVEL'];

/** What a process needs to run at all, and to reach the network through whatever the machine has for that. */
const systemVariables = ['LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'HOME'];
const networkVariables = [
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'HTTPS_PROXY',
  'HTTP_PROXY',
  'NO_PROXY',
  'https_proxy',
  'http_proxy',
  'no_proxy',
];
/** The only services that talk to others than us: the model provider, git, and who subscribed to webhooks. */
const reachOut: readonly ServiceName[] = ['llm-facade', 'scheduler', 'delivery'];

const pick = (from: Environment, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])));

export interface DeploymentFacts {
  readonly layout: HomeLayout;
  readonly secrets: SecretFiles;
  readonly ports: Ports;
  readonly deploymentId: string;
  readonly providerKeys: ProviderKeys;
  /** Environment of the person who started us: their settings go to the services that read them. */
  readonly caller: Environment;
}

/** Every value this deployment sets, before it is cut down to one service. */
function allValues(facts: DeploymentFacts): Environment {
  const { layout, secrets, ports } = facts;
  return {
    ...pick(facts.caller, Object.keys(environmentVariables)),
    ...(facts.providerKeys.anthropic ? { FLUIDBOX_ANTHROPIC_KEY_FILE: secrets.anthropicKey } : {}),
    ...(facts.providerKeys.openai ? { FLUIDBOX_OPENAI_KEY_FILE: secrets.openaiKey } : {}),
    FLUIDBOX_HOME: layout.home,
    FLUIDBOX_DEPLOYMENT_ID: facts.deploymentId,
    FLUIDBOX_KEK_FILE: secrets.kek,
    FLUIDBOX_TOKEN_KEY_FILE: secrets.tokenKey,
    FLUIDBOX_TOKEN_PUBLIC_KEYS_FILE: secrets.tokenPublicKeys,
    FLUIDBOX_DELIVERY_KEY_FILE: secrets.deliveryKey,
    FLUIDBOX_PUBLIC_URL: facts.caller.FLUIDBOX_PUBLIC_URL ?? `http://127.0.0.1:${ports.public}`,
    FLUIDBOX_LEDGER_KEY_FILE: secrets.ledgerKey,
    FLUIDBOX_LEDGER_PUBLIC_KEYS_FILE: secrets.ledgerPublicKeys,
    FLUIDBOX_ADMIN_TOKEN_FILE: secrets.adminToken,
    FLUIDBOX_PUBLIC_PORT: String(ports.public),
    FLUIDBOX_CONTROL_PORT: String(ports.control),
    FLUIDBOX_LLM_PORT: String(ports.llm),
    FLUIDBOX_UP_FILE: layout.upFile,
    FLUIDBOX_BLOBS_DIR: layout.blobs,
    FLUIDBOX_RUNS_DIR: layout.runs,
  };
}

/** Programs the set-up unpacked come before those of the system, also when we were not started through npm. */
const searchPath = (caller: Environment): string => {
  const rest = (caller.PATH ?? '/usr/bin:/bin').split(path.delimiter).filter((dir) => dir !== toolsBin);
  return [toolsBin, ...rest].join(path.delimiter);
};

/** Environment of one service's own process: its files and nobody else's, nothing else of ours. */
export function serviceEnvironment(service: ServiceName, facts: DeploymentFacts): Record<string, string> {
  const values = { ...allValues(facts), FLUIDBOX_SECRETS_FILE: facts.secrets.service(service) };
  const network = reachOut.includes(service) ? networkVariables : [];
  return {
    PATH: searchPath(facts.caller),
    ...pick(facts.caller, [...systemVariables, ...network]),
    ...pick(values, [...everyService, ...variablesOf[service]]),
  };
}

/** Environment of all services in one process, which is the command's: their log must stay out of its output. */
export function allInOneEnvironment(facts: DeploymentFacts): Record<string, string> {
  const values = {
    FLUIDBOX_LOG_FILE: path.join(facts.layout.logs, 'services.log'),
    ...allValues(facts),
    FLUIDBOX_SECRETS_DIR: facts.secrets.dir,
    FLUIDBOX_SECRETS_FILE: undefined,
  };
  return {
    PATH: searchPath(facts.caller),
    ...pick(facts.caller, [...systemVariables, ...networkVariables]),
    ...pick(values, Object.keys(values)),
  };
}
