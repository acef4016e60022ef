import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { type ServiceName, ServiceSecrets, serviceNames } from '@fluidbox/contracts';
import { EmbeddedFailure } from './embedded-failure';
import { makePrivateFolder, readIfPresent, readJsonIfPresent, writeFileAtomically } from './files';

/** Every secret is a file of mode 0600 in one folder of mode 0700; nothing has a default value. */
export interface SecretFiles {
  readonly dir: string;
  readonly kek: string;
  readonly deliveryKey: string;
  readonly tokenKey: string;
  readonly tokenPublicKeys: string;
  readonly ledgerKey: string;
  readonly ledgerPublicKeys: string;
  readonly adminToken: string;
  readonly anthropicKey: string;
  readonly openaiKey: string;
  service(name: ServiceName): string;
}

export function secretFiles(dir: string): SecretFiles {
  const at = (name: string) => path.join(dir, name);
  return {
    dir,
    kek: at('kek'),
    deliveryKey: at('delivery-key'),
    tokenKey: at('token-key.pem'),
    tokenPublicKeys: at('token-public-keys.json'),
    ledgerKey: at('ledger-key.pem'),
    ledgerPublicKeys: at('ledger-public-keys.json'),
    adminToken: at('admin-token'),
    anthropicKey: at('anthropic-key'),
    openaiKey: at('openai-key'),
    service: (name) => at(`${name}.json`),
  };
}

const writeOnce = (file: string, make: () => string): void => {
  if (readIfPresent(file) === undefined) writeFileAtomically(file, make());
};

/** The public part of an Ed25519 key as a JWK, its id the RFC 7638 thumbprint. */
export function publicJwk(privateKey: KeyObject): { readonly kid: string } {
  const { crv, kty, x } = createPublicKey(privateKey).export({ format: 'jwk' });
  const kid = createHash('sha256').update(JSON.stringify({ crv, kty, x })).digest('base64url');
  return { ...{ kty, crv, x }, kid, ...{ alg: 'EdDSA', use: 'sig' } };
}

/** Written public part first: a private key without its public part is never left behind. */
function writeKeyPairOnce(privateFile: string, publicFile: string): void {
  const known = readIfPresent(privateFile);
  if (known !== undefined && readIfPresent(publicFile) !== undefined) return;
  const privateKey = known === undefined ? generateKeyPairSync('ed25519').privateKey : createPrivateKey(known);
  writeFileAtomically(publicFile, JSON.stringify({ keys: [publicJwk(privateKey)] }));
  writeFileAtomically(privateFile, privateKey.export({ format: 'pem', type: 'pkcs8' }).toString());
}

/** Makes what is missing. `dataExists`: a lost key-encryption key is then a loss to be noticed, not one to be replaced in silence. */
export function ensureSecrets(dir: string, dataExists: boolean): SecretFiles {
  makePrivateFolder(dir);
  const files = secretFiles(dir);
  if (dataExists && readIfPresent(files.kek) === undefined) {
    throw new EmbeddedFailure(
      `${files.kek} is missing although there are data sealed with it. Fix: restore the file, or remove ${path.dirname(dir)} to start empty`,
    );
  }
  writeOnce(files.kek, () => randomBytes(32).toString('hex'));
  writeOnce(files.deliveryKey, () => randomBytes(32).toString('hex'));
  writeOnce(files.adminToken, () => `fbx_admin_${randomBytes(32).toString('base64url')}`);
  writeKeyPairOnce(files.tokenKey, files.tokenPublicKeys);
  writeKeyPairOnce(files.ledgerKey, files.ledgerPublicKeys);
  for (const name of looseSecrets(dir)) fs.chmodSync(path.join(dir, name), 0o600);
  return files;
}

/** Names of the files in the folder that others than their owner may read. */
export function looseSecrets(dir: string): string[] {
  if (!fs.existsSync(dir)) return [];
  return fs.readdirSync(dir).filter((name) => (fs.statSync(path.join(dir, name)).mode & 0o077) !== 0);
}

/** Which model providers this deployment has a key of. */
export interface ProviderKeys {
  readonly anthropic: boolean;
  readonly openai: boolean;
}

/** A provider's key exists only as long as the environment gives it. */
export function keepProviderKeys(files: SecretFiles, environment: Readonly<Record<string, string | undefined>>): ProviderKeys {
  const keep = (file: string, key: string | undefined): boolean => {
    if (key === undefined || key === '') fs.rmSync(file, { force: true });
    else writeFileAtomically(file, key);
    return key !== undefined && key !== '';
  };
  return {
    anthropic: keep(files.anthropicKey, environment.ANTHROPIC_API_KEY),
    openai: keep(files.openaiKey, environment.OPENAI_API_KEY),
  };
}

export interface ServicePasswords {
  readonly database: string;
  readonly nats: string;
}

/** One pair of passwords per service, kept over restarts so that a service that reconnects need not read them anew. */
export function servicePasswords(files: SecretFiles): Record<ServiceName, ServicePasswords> {
  const fresh = () => randomBytes(24).toString('base64url');
  const pairs = serviceNames.map((name): [ServiceName, ServicePasswords] => {
    const known = ServiceSecrets.safeParse(readJsonIfPresent(files.service(name)));
    if (!known.success) return [name, { database: fresh(), nats: fresh() }];
    return [name, { database: decodeURIComponent(new URL(known.data.database_url).password), nats: known.data.nats_password }];
  });
  return Object.fromEntries(pairs) as Record<ServiceName, ServicePasswords>;
}

export function writeServiceSecrets(files: SecretFiles, name: ServiceName, secrets: ServiceSecrets): void {
  writeFileAtomically(files.service(name), JSON.stringify(secrets));
}
