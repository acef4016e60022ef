import { type AttemptEnd, type Verdict, verdictOn } from './failover';
import { placed } from './upstream-order';
import { refuseUpstreamUrl, writtenUrl } from './upstream-url';

describe('whether the next upstream is asked', () => {
  const answered = (status: number): AttemptEnd => ({ kind: 'answered', status });
  const rows: readonly [AttemptEnd, Verdict][] = [
    [{ kind: 'not_sent' }, 'next'],
    [{ kind: 'timeout' }, 'next_charged'],
    [{ kind: 'lost' }, 'done'],
    ...[500, 502, 503, 504, 529].map((status): [AttemptEnd, Verdict] => [answered(status), 'next']),
    ...[200, 201, 400, 401, 403, 404, 408, 413, 422, 429, 499, 501, 505, 520].map((status): [AttemptEnd, Verdict] => [
      answered(status),
      'done',
    ]),
  ];
  it.each(rows)('%j: %s', (end, verdict) => {
    expect(verdictOn(end)).toBe(verdict);
  });
});

describe('the order of upstreams', () => {
  it.each<[string, string[], string, number | undefined, string[] | null]>([
    ['the first', [], 'a', undefined, ['a']],
    ['a new one is the last', ['a', 'b'], 'c', undefined, ['a', 'b', 'c']],
    ['a new one in its place', ['a', 'b'], 'c', 1, ['c', 'a', 'b']],
    ['beyond the end is the end', ['a'], 'b', 4, ['a', 'b']],
    ['a known one stays', ['a', 'b', 'c'], 'b', undefined, ['a', 'b', 'c']],
    ['a known one moves', ['a', 'b', 'c'], 'c', 1, ['c', 'a', 'b']],
    ['a fifth one has no place', ['a', 'b', 'c', 'd'], 'e', 1, null],
    ['the fourth of four can still be changed', ['a', 'b', 'c', 'd'], 'd', undefined, ['a', 'b', 'c', 'd']],
  ])('%s', (_name, order, name, position, expected) => {
    expect(placed(order, name, position)).toEqual(expected);
  });
});

describe('the base URL of an upstream', () => {
  const named = ['proxy.corp', '10.0.0.7:8080', '[fd00::1]:8080'];
  it.each([
    'https://api.example.com',
    'https://api.example.com/',
    'https://api.example.com:8443/anthropic',
    'https://8.8.8.8',
    'http://proxy.corp/llm',
    'http://PROXY.corp:81',
    'https://10.0.0.7:8080',
    'http://[fd00::1]:8080',
  ])('takes %s', (url) => {
    expect(refuseUpstreamUrl(url, named)).toBeNull();
  });
  it.each([
    ['nonsense', /must be a URL/],
    ['ftp://api.example.com', /https/],
    ['http://api.example.com', /https.*FLUIDBOX_UPSTREAM_PRIVATE_HOSTS/],
    ['https://me:secret@api.example.com', /no user/],
    ['https://@api.example.com', /no user/],
    ['https://api.example.com?key=1', /query/],
    ['https://api.example.com?', /query/],
    ['https://api.example.com#x', /fragment/],
    ['https://api.example.com/v1', /\/v1/],
    ['https://api.example.com/v1/', /\/v1/],
    ['https://10.0.0.8:8080', /private/],
    ['https://10.0.0.7', /private/],
    ['https://127.0.0.1', /private/],
    ['https://0x7f.1', /private/],
    ['https://2130706433', /private/],
    ['https://169.254.169.254', /private/],
    ['https://[::1]', /private/],
    ['https://[::ffff:10.0.0.1]', /private/],
    ['https://localhost:9', /private/],
    ['https://localhost.', /private/],
    ['https://a.localhost', /private/],
  ])('refuses %s', (url, why) => {
    expect(refuseUpstreamUrl(url, named)).toMatch(why);
  });
  it('is kept as the parser writes it', () => {
    expect(writtenUrl('HTTPS://API.example.com/x//')).toBe('https://api.example.com/x');
  });
});
