import { createHmac } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { generateSecret, signedHeaders } from './signature';

describe('[WEBHOOK-2] the signature', () => {
  // The vector that the libraries of Standard Webhooks test themselves with.
  it('is the one of Standard Webhooks', () => {
    const headers = signedHeaders('msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330, '{"test": 2432232314}', [
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    ]);
    expect(headers).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  // Stands in the README of this service.
  it('is ours of the README', () => {
    const headers = signedHeaders('0198b3a0-0000-5000-8000-000000000001', 1_767_225_600, '{"a":1}', [
      'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=',
    ]);
    const key = Buffer.from(Array.from({ length: 32 }, (_, index) => index));
    const expected = createHmac('sha256', key).update('0198b3a0-0000-5000-8000-000000000001.1767225600.{"a":1}').digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${expected}`);
    expect(fs.readFileSync(path.join(__dirname, '../../README.md'), 'utf8')).toContain(`v1,${expected}`);
  });

  it('is one under each valid secret, the newest first', () => {
    const [one, two] = [generateSecret(), generateSecret()];
    const sign = (secrets: string[]) => signedHeaders('i', 1, 'b', secrets)['webhook-signature'];
    expect(sign([two, one])).toBe(`${sign([two])} ${sign([one])}`);
  });

  it('covers id, time and body', () => {
    const secret = generateSecret();
    const sign = (id: string, at: number, body: string) => signedHeaders(id, at, body, [secret])['webhook-signature'];
    expect(new Set([sign('a', 1, 'x'), sign('b', 1, 'x'), sign('a', 2, 'x'), sign('a', 1, 'y')]).size).toBe(4);
  });
});
