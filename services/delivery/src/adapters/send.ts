import type { CourierPorts } from '../app/ports';
import { validSecrets } from '../domain/secrets';
import type { Post } from './post';
import { signedHeaders } from './signature';

/** One attempt: the same id and bytes as in every other, signed for this moment. */
export const sendSigned =
  (post: Post): CourierPorts['send'] =>
  ({ id, body, secrets }, now) => {
    if (secrets === null) return Promise.resolve({ kind: 'failed', reason: 'unreadable_secret' });
    const signed = signedHeaders(id, Math.floor(now / 1_000), body, validSecrets(secrets, now));
    return post(secrets.url, { 'content-type': 'application/json', 'user-agent': 'fluidbox-webhook/1', ...signed }, body);
  };
