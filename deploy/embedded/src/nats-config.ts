export interface NatsUser {
  readonly user: string;
  readonly password: string;
  /** Without permissions a user may do everything: for tests only. */
  readonly permissions?: { readonly publish: readonly string[]; readonly subscribe: readonly string[] };
}

export interface NatsConfig {
  readonly port: number;
  readonly storeDir: string;
  readonly users: readonly NatsUser[];
  readonly maxPayloadBytes: number;
  readonly maxFileBytes: number;
}

const literal = (text: string): string => JSON.stringify(text);
const list = (subjects: readonly string[]): string => `[${subjects.map(literal).join(', ')}]`;

function userBlock({ user, password, permissions }: NatsUser): string {
  const login = `user: ${literal(user)}, password: ${literal(password)}`;
  if (permissions === undefined) return `    { ${login} }`;
  // A service answers only what it was asked: the right to a reply subject comes with the request and ends with the answer.
  const rights = `publish: { allow: ${list(permissions.publish)} }, subscribe: { allow: ${list(permissions.subscribe)} }, allow_responses: true`;
  return `    { ${login}, permissions: { ${rights} } }`;
}

/** The server's configuration file. No monitoring port: it would answer anyone on the machine. */
export function natsConfigText(config: NatsConfig): string {
  return [
    `listen: "127.0.0.1:${config.port}"`,
    'server_name: "fluidbox"',
    `max_payload: ${config.maxPayloadBytes}`,
    `jetstream { store_dir: ${literal(config.storeDir)}, max_mem: ${256 * 1024 * 1024}, max_file: ${config.maxFileBytes} }`,
    'authorization {',
    '  users: [',
    config.users.map(userBlock).join(',\n'),
    '  ]',
    '}',
    '',
  ].join('\n');
}
