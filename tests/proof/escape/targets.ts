import fs from 'node:fs';
import path from 'node:path';
import { repositoryRoot, type SystemStack } from '../../system/support/stack';

export interface Secret {
  readonly name: string;
  /** What is searched for: bytes of the secret, in hexadecimal so that the list is no finding itself. */
  readonly hex: string;
}

export interface Targets {
  readonly secrets: readonly Secret[];
  readonly urls: Readonly<Record<string, string>>;
  readonly databaseSocket: string;
  readonly hostPaths: readonly { readonly name: string; readonly path: string }[];
}

const pieceChars = 12;
const secretShape = /[A-Za-z0-9+/_-]{16,}/g;

/** A piece from the middle: it recognises the secret and does not open anything. */
function pieceOf(secret: string): string {
  const from = Math.max(0, Math.floor((secret.length - pieceChars) / 2));
  return Buffer.from(secret.slice(from, from + pieceChars)).toString('hex');
}

const longestOf = (text: string): string =>
  [...text.matchAll(secretShape)].map(([found]) => found).reduce((longest, found) => (found.length > longest.length ? found : longest), '');

function* stringsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) yield* stringsIn(each);
}

/** The secrets of one file of the stack: all of a service's JSON file, the one value of any other. */
function secretsOfFile(file: string): Secret[] {
  const content = fs.readFileSync(file, 'utf8');
  const name = path.basename(file);
  if (!name.endsWith('.json')) return [{ name, hex: pieceOf(longestOf(content)) }];
  return [...stringsIn(JSON.parse(content))].flatMap((text) => {
    const secret = URL.canParse(text) ? new URL(text).password : text;
    return secret.length < 16 ? [] : [{ name: `a secret of ${name}`, hex: pieceOf(secret) }];
  });
}

/**
 * Every token of every run of this stack starts with the same header, which names the stack's own key: its exact bytes recognise the
 * run's real tokens without anybody outside having to learn them.
 */
function headOfRunTokens(secretsDir: string): Secret {
  const { keys } = JSON.parse(fs.readFileSync(path.join(secretsDir, 'token-public-keys.json'), 'utf8')) as { keys: { kid: string }[] };
  const header = Buffer.from(JSON.stringify({ alg: 'EdDSA', typ: 'fbx-run+jwt', kid: keys[0]?.kid })).toString('base64url');
  return { name: 'a token of this run', hex: Buffer.from(header).toString('hex') };
}

/** What an attacker in a run of this stack would look for. `canaries`: secrets that stood in the environment of the services. */
export function targetsOf({ home, up }: SystemStack, canaries: Readonly<Record<string, string>> = {}): Targets {
  const secretsDir = up.files.secrets_dir;
  const files = fs
    .readdirSync(secretsDir)
    .filter((name) => !name.includes('public'))
    .map((name) => path.join(secretsDir, name));
  const runs = path.join(home, 'runs');
  const database = new URL(databaseUrl(path.join(secretsDir, 'gate.json')));
  return {
    secrets: [
      headOfRunTokens(secretsDir),
      ...[...files, path.join(home, 'postgres/superuser-password')].flatMap(secretsOfFile),
      ...Object.entries(canaries).map(([name, value]) => ({ name: `the services’ ${name}`, hex: Buffer.from(value).toString('hex') })),
    ],
    urls: {
      'public (/v1)': up.public_url,
      control: up.control_url,
      llm: up.llm_url,
      NATS: up.nats_url,
      Postgres: `http://${database.host}`,
    },
    databaseSocket: path.join('/tmp', `.s.PGSQL.${database.port}`),
    hostPaths: [
      { name: 'the folder of the stack', path: home },
      { name: 'up.json', path: path.join(home, 'up.json') },
      { name: 'the admin token', path: up.files.admin_token },
      { name: 'the key-encryption key', path: up.files.kek },
      { name: 'the folders of the runs', path: runs },
      { name: 'the stack through /proc/1/root', path: `/proc/1/root${home}` },
      { name: 'the clone of the product', path: repositoryRoot },
    ],
  };
}

function databaseUrl(file: string): string {
  return (JSON.parse(fs.readFileSync(file, 'utf8')) as { database_url: string }).database_url;
}
