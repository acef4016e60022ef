import { setTimeout as delay } from 'node:timers/promises';
import { natsPayloadBytesMin, type ServiceName } from '@fluidbox/contracts';
import { AuthorizationError, connect, type NatsConnection } from '@nats-io/transport-node';

const RETRY_MS = 250;
const RECONNECT_MS = 200;

export interface ConnectOptions {
  readonly service: ServiceName;
  readonly url: string;
  readonly user?: string;
  readonly password?: string;
  /** How long a start waits for a server that is not there yet. */
  readonly startTimeoutMs?: number;
}

/** A connection that reconnects for ever. The start fails loudly: wrong password at once, no server after `startTimeoutMs`. */
export async function connectNats(options: ConnectOptions): Promise<NatsConnection> {
  const deadline = performance.now() + (options.startTimeoutMs ?? 15_000);
  for (;;) {
    try {
      const connection = await connectOnce(options);
      await checkPayload(connection, options.url);
      return connection;
    } catch (error) {
      if (error instanceof AuthorizationError || error instanceof TooSmallPayload || performance.now() + RETRY_MS > deadline) {
        throw new Error(`${options.service} cannot use NATS at ${options.url}: ${(error as Error).message}`, { cause: error });
      }
      await delay(RETRY_MS);
    }
  }
}

const connectOnce = ({ service, url, user, password }: ConnectOptions): Promise<NatsConnection> =>
  connect({
    servers: url,
    name: service,
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { pass: password }),
    inboxPrefix: `_INBOX_${service}`,
    timeout: 5_000,
    // What we publish about the log we deliver ourselves; no service calls itself (the call map says whom it calls).
    noEcho: true,
    maxReconnectAttempts: -1,
    // All processes lose a server at the same moment; they must not come back at the same moment.
    reconnectDelayHandler: () => RECONNECT_MS + Math.random() * 4 * RECONNECT_MS,
    // A server that restarts with its users not yet loaded refuses us for a moment.
    ignoreAuthErrorAbort: true,
  });

class TooSmallPayload extends Error {}

async function checkPayload(connection: NatsConnection, url: string): Promise<void> {
  const bytes = connection.info?.max_payload ?? 0;
  if (bytes >= natsPayloadBytesMin) return;
  await connection.close();
  throw new TooSmallPayload(`its max_payload is ${bytes}; set "max_payload: 8MB" in the configuration of the server at ${url}`);
}
