import { createHmac, randomBytes } from 'node:crypto';

const prefix = 'whsec_';
const secretBytes = 32;

export const generateSecret = (): string => `${prefix}${randomBytes(secretBytes).toString('base64')}`;

/** The headers of Standard Webhooks: HMAC-SHA256 of `id.timestamp.body` under each valid secret, newest first. `timestamp`: seconds. */
export function signedHeaders(id: string, timestamp: number, body: string, secrets: readonly string[]): Record<string, string> {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signatures.join(' ') };
}
