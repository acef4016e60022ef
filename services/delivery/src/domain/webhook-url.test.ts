import { isNamedHost, refuseWebhookUrl } from './webhook-url';

const named = ['hooks.internal', '127.0.0.1:9000', '[::1]:9000'];

describe('[WEBHOOK-4] the URL of a webhook', () => {
  it.each([
    'https://hooks.example.com/a/b?x=1',
    'https://hooks.example.com:8443/',
    'https://1.1.1.1/',
    'https://[2606:4700:4700::1111]/',
    'http://hooks.internal/x',
    'http://HOOKS.internal:8080/',
    'https://hooks.internal/',
    'http://127.0.0.1:9000/x',
    'http://[::1]:9000/x',
    'https://example.com/@me',
  ])('may be %s', (url) => expect(refuseWebhookUrl(url, named)).toBeNull());

  it.each([
    ['hooks.example.com', /must be a URL/],
    ['', /must be a URL/],
    ['ftp://hooks.example.com/', /https/],
    ['javascript:alert(1)', /https/],
    ['file:///etc/passwd', /https/],
    ['http://hooks.example.com/', /http is for hosts/],
    ['http://127.0.0.1:9001/', /http is for hosts/],
    ['https://ada:secret@hooks.example.com/', /user name or password/],
    ['https://ada@hooks.example.com/', /user name or password/],
    ['https://@hooks.example.com/', /user name or password/],
    ['https://:@hooks.example.com/', /user name or password/],
    ['https://hooks.example.com/#part', /fragment/],
    ['https://localhost/', /private address/],
    ['https://a.localhost/', /private address/],
    ['https://127.0.0.1/', /private address/],
    ['https://127.1/', /private address/],
    ['https://2130706433/', /private address/],
    ['https://0x7f.0.0.1/', /private address/],
    ['https://10.0.0.1/', /private address/],
    ['https://169.254.169.254/latest/meta-data', /private address/],
    ['https://[::1]/', /private address/],
    ['https://[::ffff:127.0.0.1]/', /private address/],
    ['https://[fd00::1]/', /private address/],
  ])('is refused: %s', (url, reason) => expect(refuseWebhookUrl(url, named)).toMatch(reason));

  it('is of a named host by its name, or by name and port', () => {
    expect(isNamedHost(new URL('https://hooks.internal:1234/'), named)).toBe(true);
    expect(isNamedHost(new URL('http://127.0.0.1:9000/'), named)).toBe(true);
    expect(isNamedHost(new URL('http://127.0.0.1:5432/'), named)).toBe(false);
    expect(isNamedHost(new URL('https://x.hooks.internal/'), named)).toBe(false);
    expect(isNamedHost(new URL('http://h/'), ['h:80'])).toBe(true);
    expect(isNamedHost(new URL('https://h/'), ['h:443'])).toBe(true);
    expect(isNamedHost(new URL('https://h/'), ['h:80'])).toBe(false);
  });
});
