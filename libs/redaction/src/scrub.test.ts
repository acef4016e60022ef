import { checkpointType, type LedgerBody } from '@fluidbox/contracts';
import fc from 'fast-check';
import { canonicalJson } from './canonical-json';
import { Redacted, redactBody } from './redacted';
import { redactContent, redactionMark, redactText } from './scrub';

const jwt = (header: object): string =>
  `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${Buffer.from('{"aud":"tool","sub":"0190"}').toString('base64url')}.${'c2lnbmF0dXJl'.repeat(6)}`;
const pem = '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJrXk2+/w\n-----END PRIVATE KEY-----';

/** Every secret is put together here so that no scanner of this repository takes the test for a leak. */
const secrets: readonly [name: string, secret: string][] = [
  ['Anthropic', `sk-ant-${'api03-Ab12'}`],
  ['OpenAI project', `sk-proj-${'abcDEF123_-456789'}`],
  ['OpenAI', `sk-${'A1'.repeat(12)}`],
  ['run token of old', `fbx_sess_${'0a'.repeat(16)}`],
  ['trigger', `fbx_trig_${'0a'.repeat(8)}`],
  ['web session', `fbx_web_${'0a'.repeat(8)}`],
  ['API token', `fbx_pat_${'0a'.repeat(32)}`],
  ['bootstrap admin', `fbx_admin_${'Ab-9_x'.repeat(7)}`],
  ['a later kind of ours', `fbx_hook_${'Ab-9_x'.repeat(4)}`],
  ['webhook', `fbx_whsec_${'0a'.repeat(16)}`],
  ['GitHub classic', `ghp_${'a1B2'.repeat(9)}`],
  ['GitHub OAuth', `gho_${'a1B2'.repeat(9)}`],
  ['GitHub server', `ghs_${'a1B2'.repeat(9)}`],
  ['GitHub user', `ghu_${'a1B2'.repeat(9)}`],
  ['GitHub refresh', `ghr_${'a1B2'.repeat(9)}`],
  ['GitHub fine-grained', `github_pat_${'11ABC_def'.repeat(4)}`],
  ['GitLab', `glpat-${'a1B2-'.repeat(5)}`],
  ['npm', `npm_${'a1B2'.repeat(9)}`],
  ['Neon', `npg_${'a1B2'.repeat(3)}`],
  ['AWS key id', `AKIA${'ABCD2345'.repeat(2)}`],
  ['Slack', `xoxb-${'1234567890-abc'}`],
  ['Google API', `AIza${'Sy-_0'.repeat(7)}`],
  ['Google OAuth', `ya29.${'a0Af_'.repeat(6)}`],
  ['Azure client secret', `abc8Q~${'xY9_.~-a'.repeat(4)}`],
  ['JWT', jwt({ alg: 'EdDSA', typ: 'fbx-run+jwt', kid: 'k' })],
  ['Hugging Face', `hf_${'aB3d'.repeat(9)}`],
  ['Groq', `gsk_${'aB3d'.repeat(13)}`],
  ['SendGrid', `SG.${'aB3d'.repeat(6)}.${'aB3d'.repeat(10)}`],
  ['DigitalOcean', `dop_v1_${'0a'.repeat(32)}`],
  ['PyPI', `pypi-AgE${'IcHlwaS5v'.repeat(4)}`],
  ['Shopify', `shpat_${'0a'.repeat(16)}`],
  ['Vault', `hvs.${'CAESIJ1a'.repeat(4)}`],
  ['Docker Hub', `dckr_pat_${'aB3d'.repeat(7)}`],
  ['GitLab runner', `glrt-${'aB3d'.repeat(5)}`],
  ['Atlassian', `ATATT3${'xFfGF0'.repeat(8)}`],
  ['Linear', `lin_api_${'aB3d'.repeat(10)}`],
  ['Tailscale', `tskey-auth-${'kAb1'.repeat(6)}`],
  ['Telegram', `123456789:AA${'Eh0_-B'.repeat(6)}`],
  ['Slack cookie', `xoxd-${'abcdefghijkl'}%2Babc`],
  ['age', `AGE-SECRET-KEY-1${'Q2'.repeat(20)}`],
  ['Databricks', `dapi${'0a'.repeat(16)}-2`],
  ['Twilio key', `SK${'0a'.repeat(16)}`],
  ['Notion', `ntn_${'123456789'}${'aB3d'.repeat(9)}`],
  ['Notion of old', `secret_${'aB3d'.repeat(10)}xyz`],
  ['Alibaba', `LTAI${'aB3d5'.repeat(4)}`],
  ['Figma', `figd_${'aB3d-_'.repeat(7)}`],
  ['Supabase', `sbp_${'0a'.repeat(20)}`],
  ['NVIDIA', `nvapi-${'aB3d-_'.repeat(10)}`],
  ['Perplexity', `pplx-${'aB3d'.repeat(12)}`],
  ['PlanetScale', `pscale_tkn_${'aB3d-_'.repeat(7)}`],
  ['Prefect', `pnu_${'aB3d'.repeat(9)}`],
  ['ReadMe', `rdme_${'ab3d5'.repeat(14)}`],
  ['RubyGems', `rubygems_${'0a'.repeat(24)}`],
  ['Grafana service account', `glsa_${'aB3d'.repeat(8)}_0123abcd`],
  ['Grafana Cloud', `glc_eyJ${'aB3d'.repeat(12)}=`],
  ['LangSmith', `lsv2_pt_${'0a'.repeat(16)}_0123456789`],
  ['SonarQube', `squ_${'0a'.repeat(20)}`],
  ['Sentry user', `sntryu_${'0a'.repeat(32)}`],
  ['Sourcegraph', `sgp_${'0a'.repeat(8)}_${'0a'.repeat(20)}`],
  ['Typeform', `tfp_${'aB3d-_x'.repeat(8)}`],
  ['Fly', `fo1_${'aB3d-_x'.repeat(6)}y`],
  ['Fly macaroon', `fm2_${'aB3d+x'.repeat(20)}`],
  ['1Password account', `ops_eyJ${'aB3d'.repeat(40)}`],
  ['1Password secret key', `A3-${'ABC123'}-${'ABC123DEF45'}-${'AB1C2'}-${'AB1C2'}-${'AB1C2'}`],
  ['MongoDB Atlas', `mdb_sa_sk_${'aB3d-_'.repeat(7)}`],
  ['Brevo', `xkeysib-${'0a'.repeat(32)}-aB3daB3daB3daB3d`],
  ['Buildkite', `bkua_${'0a'.repeat(20)}`],
  ['CircleCI', `CCIPAT_${'aB3d_'.repeat(12)}`],
  ['Contentful', `CFPAT-${'aB3d-_'.repeat(7)}`],
  ['Pinecone', `pcsk_${'aB3d_'.repeat(14)}`],
  ['Tavily', `tvly-${'aB3d'.repeat(8)}`],
  ['Flutterwave', `FLWSECK_TEST-${'0a'.repeat(16)}-X`],
  ['Duffel', `duffel_test_${'aB3d-_'.repeat(7)}`],
  ['Shippo', `shippo_live_${'0a'.repeat(20)}`],
  ['GitLab agent', `glagent-${'aB3d-_'.repeat(8)}`],
  ['GitLab runner of old', `GR1348941${'aB3d-'.repeat(4)}`],
  ['Bitbucket', `ATBB${'aB3d'.repeat(7)}`],
  ['EasyPost', `EZAK${'0aB'.repeat(18)}`],
  ['Artifactory', `AKCp${'aB3'.repeat(23)}`],
  ['Doppler', `dp.pt.${'aB3d'.repeat(11)}`],
  ['Doppler service', `dp.st.dev_main.${'aB3d'.repeat(11)}`],
  ['Dynatrace', `dt0c01.${'AB2C'.repeat(6)}.${'AB2C'.repeat(16)}`],
  ['Airtable', `pat${'aB3d5fg'.repeat(2)}.${'0a'.repeat(32)}`],
  ['Terraform Cloud', `${'aB3d5fg'.repeat(2)}.atlasv1.${'aB3d-_'.repeat(11)}`],
  ['OpenShift', `sha256~${'aB3d-_x'.repeat(6)}y`],
  ['PEM', pem],
  ['PEM in base64', Buffer.from(`-----BEGIN RSA ${'PRIVATE KEY'}-----`).toString('base64')],
  ['GitHub classic in base64', Buffer.from(`ghp_${'a1B2'.repeat(9)}`).toString('base64')],
  ['a line of .env in base64', Buffer.from(`export KEY=sk-ant-${'api03-Ab12'}`).toString('base64url')],
  ['AWS key id in base64', Buffer.from(`AKIA${'ABCD2345'.repeat(2)}`).toString('base64')],
  ['PEM that was cut off', pem.slice(0, 50)],
];

describe('redactText', () => {
  it.each(secrets)('marks a secret: %s', (_name, secret) => {
    expect(redactText(secret)).toBe(redactionMark);
    expect(redactText(`before "${secret}" after`)).toBe(
      `before "${redactionMark}" after`.slice(
        0,
        secret.startsWith('-----') && !secret.endsWith('-----') ? 8 + redactionMark.length : undefined,
      ),
    );
    // In a path too; what is encoded may take some of it along.
    for (const place of ['https://example.com/v1/', 'https://example.com/', '/', 'a/b/c/d/e/f/']) {
      const marked = redactText(`${place}${secret}`);
      expect(marked.endsWith(redactionMark)).toBe(true);
      expect(`${place}${redactionMark}`.startsWith(marked.slice(0, -redactionMark.length))).toBe(true);
    }
  });

  it.each([
    ['password=hunter2', `password=${redactionMark}`],
    ['PGPASSWORD=hunter2 psql', `PGPASSWORD=${redactionMark} psql`],
    ['GITHUB_TOKEN=abcd1234 npm publish', `GITHUB_TOKEN=${redactionMark} npm publish`],
    ['{"api_key": "a b c d"}', `{"api_key": "${redactionMark}"}`],
    ["client_secret: 'x1y2z3'", `client_secret: '${redactionMark}'`],
    ['aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY', `aws_secret_access_key = ${redactionMark}`],
    ['AccountKey=abcd+/ef0123==;Endpoint', `AccountKey=${redactionMark};Endpoint`],
    ['https://x.blob/c?sv=1&sig=abcdEFGH0123%2Fxyz0123%3D', `https://x.blob/c?sv=1&sig=${redactionMark}`],
    ['Authorization: Bearer abcdefghij0123456789', `Authorization: Bearer ${redactionMark}`],
    ['authorization: BeArEr abcdefghij0123456789', `authorization: BeArEr ${redactionMark}`],
    ['authorization: basic dXNlcjpwYXNz', `authorization: basic ${redactionMark}`],
    ['postgres://user:p4ss@db/x', `postgres://user:${redactionMark}@db/x`],
    ['mysql --password hunter2 -u root', `mysql --password ${redactionMark} -u root`],
    ['postgres://app:S3c@r3tPw9@db/x', `postgres://app:${redactionMark}@db/x`],
    ['git clone https://a1b2c3d4e5f6a7b8c9d0e1@github.com/x/y', `git clone https://${redactionMark}@github.com/x/y`],
    ['SECRET_KEY=abcd1234 ./run', `SECRET_KEY=${redactionMark} ./run`],
    ["DJANGO_SECRET_KEY='abc-9$k(2'", `DJANGO_SECRET_KEY='${redactionMark}'`],
    ['SECRET_KEY_BASE=abcd1234', `SECRET_KEY_BASE=${redactionMark}`],
    ['ENCRYPTION_KEY=0123456789abcdef', `ENCRYPTION_KEY=${redactionMark}`],
    ['DB_PASS=hunter22', `DB_PASS=${redactionMark}`],
    ['SMTP_PASS: hunter22', `SMTP_PASS: ${redactionMark}`],
    ['  password: hunter2', `  password: ${redactionMark}`],
    ['curl -d "{\\"password\\":\\"hunter2\\"}"', `curl -d "{\\"password\\":\\"${redactionMark}\\"}"`],
    ['{ apiKey: `abcdef` }', `{ apiKey: \`${redactionMark}\` }`],
    ['<password>hunter2</password>', `<password>${redactionMark}</password>`],
    ['//r.example/:_auth=dXNlcjpwYXNz', `//r.example/:_auth=${redactionMark}`],
    ['{"auths":{"r":{"auth":"dXNlcjpwYXNz"}}}', `{"auths":{"r":{"auth":"${redactionMark}"}}}`],
    ['client-key-data: c29tZXRoaW5nMQ==', `client-key-data: ${redactionMark}`],
    ['machine h login joe password abc', `machine h login joe password ${redactionMark}`],
    ['aws configure set aws_secret_access_key abcdefghijklmnop', `aws configure set aws_secret_access_key ${redactionMark}`],
    ['Cookie: sid=abcdef; csrf=ghi', `Cookie: sid=${redactionMark}`],
    ["-H 'Set-Cookie: sid=abcdef'", `-H 'Set-Cookie: sid=${redactionMark}'`],
    ["curl -b 'sid=abcdef' https://x", `curl -b 'sid=${redactionMark}' https://x`],
    ['curl -s -u joe:hunter2 https://x', `curl -s -u joe:${redactionMark} https://x`],
    ['sshpass -p hunter2 ssh x', `sshpass -p ${redactionMark} ssh x`],
    ['docker login -u joe -p hunter2 r.example', `docker login -u joe -p ${redactionMark} r.example`],
    ['mysql -uroot -phunter2 db', `mysql -uroot -p${redactionMark} db`],
    ['redis-cli -h x -a hunter2 ping', `redis-cli -h x -a ${redactionMark} ping`],
    ['AUTHORIZATION: BASIC dXNlcjpwYXNz', `AUTHORIZATION: BASIC ${redactionMark}`],
    ['Authorization: Bearer abc123', `Authorization: Bearer ${redactionMark}`],
    ['https://x/y?a=1&key=a1b2c3d4e5f6a7b8c9&z=1', `https://x/y?a=1&key=${redactionMark}&z=1`],
    ['https://x/y?subscription-key=a1b2c3d4e5f6a7b8c9', `https://x/y?subscription-key=${redactionMark}`],
    ['https://x/y?token=abcdefgh12&z=1', `https://x/y?token=${redactionMark}&z=1`],
    ['https://x/y?sig=a1b2c3d4e5', `https://x/y?sig=${redactionMark}`],
    ['/y?X-Sig=a1b2c3d4e5', `/y?X-Sig=${redactionMark}`],
    ['/y?SIG=a1b2c3d4e5', `/y?SIG=${redactionMark}`],
    ['COOKIE: sid=abcdef', `COOKIE: sid=${redactionMark}`],
    ['https://b.s3/k?X-Amz-Signature=0a1b2c3d4e5f&X-Amz-Date=1', `https://b.s3/k?X-Amz-Signature=${redactionMark}&X-Amz-Date=1`],
    [`TWILIO_AUTH=${'0a'.repeat(16)}`, `TWILIO_AUTH=${redactionMark}`],
    [`twilio(sid, "x"); twilio auth: "${'0a'.repeat(16)}"`, `twilio(sid, "x"); twilio auth: "${redactionMark}"`],
    ['db:\n  password: correcthorse\n  port: 5432', `db:\n  password: ${redactionMark}\n  port: 5432`],
    ['- spring.datasource.password: correct-horse  # local\n', `- spring.datasource.password: ${redactionMark}  # local\n`],
    ['db.example:5432:*:app:correcthorse', `db.example:5432:*:app:${redactionMark}`],
    ["echo '*:*:*:postgres:s3cr:et' >> ~/.pgpass", `echo '*:*:*:postgres:${redactionMark}' >> ~/.pgpass`],
    ['Authorization: 0123456789abcdef', `Authorization: ${redactionMark}`],
  ])('marks the value and keeps the name: %s', (text, scrubbed) => {
    expect(redactText(text)).toBe(scrubbed);
  });

  it.each([
    `sha256:${'0a'.repeat(32)}`,
    '0190a0b0-1234-7abc-8def-0123456789ab',
    '932765f0932765f0932765f0932765f0932765f0',
    'apr_0190a0b0-1234-7abc-8def-0123456789ab_toolu_01A09q90qw90lq917835lq9',
    'toolu_01A09q90qw90lq917835lq9',
    'call_qLn9Pnl8Xn7EK2mDWbkTwAYq',
    'msg_01XFDUDYJgAACzvnptvVoYEL',
    'the task-management-of-a-long-list and risk-assessment-of-the-whole',
    'ask-me-anything-about-this-package-name',
    'max_tokens=4000 and input_tokens: 12345678901',
    'const token = await readToken()',
    'password=$DB_PASSWORD and password="" and password=getPassword(user)',
    'git clone https://github.com/acme/app.git',
    'http://localhost:4873/@scope/package',
    'Bearer tokens are tokens',
    'next_page_token=abcd1234',
    '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----',
    '/workspace/src/Components1/HeaderBarFooView2',
    'sha512-3IAKd0mkMBbLbpU8jSBHZTpAQ8xUEc7jTCdHz1Kp8hvQeGzFXbWmTQjZQe5J8D5u9yJ9hRkOd1v9PBnCJ3RwXg==',
    'AKIA is a prefix; eyJ is one too; sk- and ghp_ also',
    'fbx_some_function_with_a_long_name(fbx_other_one)',
    'sk-learn-is-a-library-and-so-is-sk-image-for-pictures',
    'gho_ghs_ghu_ghr_ are prefixes, ghp_tooshort is none',
    'the secret to good tests; a token of thanks; password reset; passwords: many',
    'secretName, tokenize(x), parse_token(y), credentials.ts, api_keys.md',
    'xoxb- xapp-1 AIza ya29. GOCSPX- 8Q~ npm_ npg_ whsec_',
    'sig=short and ?sig=x&y=1',
    'mailto:user@example.com, git@github.com:acme/app.git, http://host:8080/a@b',
    'index 932765f0a1..b2c3d4e5f6 100644',
    '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----',
    'eyJust.a.word and eyJhbGci',
    'docker run -u 1000:1000 -p 8080:80 image; chown -R root:root /x; docker login r.example',
    'curl -u $USER:$PASS https://x | curl -b cookies.txt https://y',
    'mysql -u root -p db; mysqldump --port=3306; redis-cli ping; redis-cli -a $PASS',
    'Authorization: required; authorization: Bearer $TOKEN; authorization = buildAuthorizationHeader1(x)',
    'const cookie = parse(request.headers.cookie); // Cookie: see RFC 6265',
    'primary_key=id12345 foreign_key: user_id1 cache_key=abcd1234 hotkey=ctrl1 monkey: banana7',
    'signing_key = loadKey1(path); encryption_key: Buffer',
    'compass=north1 bypass: trueish1 first_pass=done1 npm test PASS 12 of 12',
    'login page password reset; login with password: ask',
    'hf_hub_download(repo) gsk_ shpat_ lin_api_ xai-org/grok-1 pul- sq0atp- glrt- SG. hvs. pypi-server',
    'ssh://deploy-user@host/path and https://some-very-long-user-name-here@host',
    'http://proxy:8080/path@version and redis://cache:6379',
    'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUI=',
    'https://example.com/v1/b25seSBzb21lIHRleHQsIGFzIGxvbmcgYXMgdGhhdA==/and/some-other-part-of-a-path-that-is-long',
    'COOKIE policy of the house; ?design=a1b2c3d4e5',
    'libs/event-store/src/postgres/postgres-store.ts and @scope/some-package-with-a-long-name/dist/index',
    `dapi${'0a'.repeat(5)} dapibus SKIP TASK${'0A'.repeat(16)} SK${'0a'.repeat(20)} ntn_ secret_santa secret_${'a'.repeat(43)}`,
    'pscale_tkn_ rubygems_mirror_of_the_house rdme_x pnu_ glsa_x figd_font_family_for_the_heading sbp_ nvapi-doc pplx- lsv2_pt_',
    'shippo_test_address_of_a_customer_in_town duffel_test_offer_request xkeysib- CCIPAT_ EZAK ATBB A3-paper A3-ABC123 dp.pt. dt0c01.',
    'pattern.test(x) pat.matcher(y) chat.postMessage.a.b sha256~ x.atlasv1.y GR1348941 LTAI AKCp tvly- FLWSECK',
    'https://x/y?key=settings-of-the-user-page&sort_key=created_at&key=0190a0b0-1234-7abc-8def-0123456789ab&key=short1',
    'https://x/y?design=a1b2c3d4e5&assignature=&X-Goog-Signature= signature=verify(x) twilio.com/docs/usage/api twilio: 2 numbers',
    'password: string\npassword: Optional\npassword: ask\npassword:\n  - required\nWhat is your password: nothing happens\n',
    'interface A {\n  password: string;\n  pwd: HashedPassword,\n  passphrase: config.passphrase\n  password: await read()\n  password: *default\n}',
    'src/a.ts:5432:12:error:expected src/a.ts:5432:a:b:c a.ts:12:foo:bar:bazzz 127.0.0.1:5432:5432 postgres:5432:app arn:aws:iam::*:role/x:y',
    '<password></password> <tokens>abc</tokens> <Secret/>',
  ])('leaves what only looks similar: %s', (text) => {
    expect(redactText(text)).toBe(text);
  });

  it('takes time in proportion to the text, whatever the text', () => {
    const costMs = (text: string): number => {
      // Of the processor, not of the clock: the machine may be busy.
      const start = process.cpuUsage();
      redactText(text);
      const { user, system } = process.cpuUsage(start);
      return (user + system) / 1e3;
    };
    for (const piece of [
      'eyJ',
      'eyJaaaaaaaaaaaa.',
      'sk-',
      'sk-ant-',
      '://a:',
      'password=',
      'password="',
      '-----BEGIN PRIVATE KEY-----',
      'token: ',
      'a8Q~',
      'bearer ',
      'fbx_some_',
      'fbx_some_a-',
      'AKIA',
      'secret',
      'curl -u ',
      'mysql ',
      'docker login ',
      'login a password ',
      'cookie: a=',
      'authorization: ',
      '://aaaaaaaaaaaaaaaaaaaa',
      'hf_',
      'tskey-auth-',
      '1234567890:AA',
      'LS0tLS1CRUdJTiB',
      'password\\"',
      '<password>',
      'secret_key_base',
      'a',
      'A1b2C3d4',
      'a/',
      'secret_aaaa',
      'dapi0',
      'SK0a',
      'key=',
      '?aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaakey=',
      '?sig',
      'twilio ',
      'twilio: ',
      '\n  password: aaaaaaaaaa ',
      '\n                  a.',
      '\npassword: aaaaaa #',
      'a:5432:',
      'a.a*',
      '*:*:a:a:',
      'pat.aaaaaaaaaaaaaaaaaaaaaa.',
      '0123456789abcd.atlasv1.',
      'dp.st.a.',
      'A3-ABC123-ABCDEF',
      'pscale_tkn_',
    ]) {
      // 1 MB; a quadratic shape would take minutes.
      expect(costMs(piece.repeat(Math.ceil(1_000_000 / piece.length)))).toBeLessThan(3_000);
    }
  });
});

describe('redactContent', () => {
  it('marks member names and values under a telling name', () => {
    const secret = `ghp_${'a1B2'.repeat(9)}`;
    expect(redactContent({ [secret]: 1, nested: [{ password: 'x', max_tokens: 7, page_token: 'abc', apiKey: ['one', 'two'] }] })).toEqual({
      [redactionMark]: 1,
      nested: [{ password: redactionMark, max_tokens: 7, page_token: 'abc', apiKey: [redactionMark, redactionMark] }],
    });
  });

  it('marks a value and a member name that is a secret in base64', () => {
    const hidden = Buffer.from(`ghp_${'a1B2'.repeat(9)}`).toString('base64');
    const plain = Buffer.from('only some text, as long as that').toString('base64');
    for (let again = 0; again < 2; again += 1) expect(redactContent([plain, hidden])).toEqual([plain, redactionMark]);
    expect(redactContent({ [hidden]: 1, plain: 2 })).toEqual({ [redactionMark]: 1, plain: 2 });
  });

  it('keeps both members when two names are secrets', () => {
    expect(redactContent({ [`ghp_${'a'.repeat(30)}`]: 1, [`ghp_${'b'.repeat(30)}`]: 2 })).toEqual({
      [redactionMark]: 1,
      [`${redactionMark}2`]: 2,
    });
  });

  it('marks a secret that is split over several strings, and its whole neighbours not', () => {
    expect(redactContent(['curl', 'x-key: sk-ant-', 'api03-Ab12Cd34', ' https://example.com'])).toEqual([
      'curl',
      `x-key: ${redactionMark}`,
      redactionMark,
      ' https://example.com',
    ]);
    expect(redactContent(['x: fbx_pa', `t_${'0a'.repeat(32)}`, ' and more'])).toEqual([`x: ${redactionMark}`, redactionMark, ' and more']);
    expect(redactContent(['x: fbx_pa', 'nel', ' and more'])).toEqual(['x: fbx_pa', 'nel', ' and more']);
  });

  it('marks an AWS secret key beside its key id, and alone leaves what it cannot know', () => {
    const id = `AKIA${'ABCD2345'.repeat(2)}`;
    const key = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPL3K3Y';
    expect(redactContent({ a: id, b: key, commit: '932765f0932765f0932765f0932765f0932765f0' })).toEqual({
      a: redactionMark,
      b: redactionMark,
      commit: '932765f0932765f0932765f0932765f0932765f0',
    });
    expect(redactContent({ b: key })).toEqual({ b: key });
  });

  it('marks the argument behind an option that takes a secret, and no other', () => {
    expect(redactContent(['mysql', '--password', 'hunter2', '-u', 'root'])).toEqual(['mysql', '--password', redactionMark, '-u', 'root']);
    expect(redactContent(['-H', 'Authorization: Bearer', 'abcd'])).toEqual(['-H', 'Authorization: Bearer', redactionMark]);
    expect(redactContent(['docker', 'login', '--password', '--username', 'me'])).toEqual([
      'docker',
      'login',
      '--password',
      '--username',
      'me',
    ]);
    expect(redactContent(['--max-tokens', '7', '--page-token', 'x', '--pass', 'by'])).toEqual([
      '--max-tokens',
      '7',
      '--page-token',
      'x',
      '--pass',
      'by',
    ]);
  });

  it('marks a private key whose lines stand in strings of their own, and nothing behind it', () => {
    const lines = pem.split('\n');
    const marked = lines.map(() => redactionMark);
    expect(redactContent(['cat', ...lines, 'npm test'])).toEqual(['cat', ...marked, 'npm test']);
    const encrypted = [lines[0], 'Proc-Type: 4,ENCRYPTED', '', ...lines.slice(1)];
    expect(redactContent({ encrypted, after: 'ls' })).toEqual({ encrypted: encrypted.map(() => redactionMark), after: 'ls' });
    const cut = [lines[0], 'A1b2'.repeat(16), 'A1b2'.repeat(16)];
    expect(redactContent([...cut, 'ls -la', 'README'])).toEqual([...cut.map(() => redactionMark), 'ls -la', 'README']);
    // What is no line of a key is not hidden between its ends.
    expect(redactContent([lines[0], 'rm -rf /', lines[2]])).toEqual([redactionMark, 'rm -rf /', lines[2]]);
    const many = Array.from({ length: 100_000 }, () => lines[0]);
    const began = process.cpuUsage();
    redactContent(many);
    redactContent([`${many.join('\n')}\n${lines[2]}`, lines[0]]);
    const { user, system } = process.cpuUsage(began);
    expect((user + system) / 1e3).toBeLessThan(3_000);
  });

  it('marks the value of a pair whose name says that it is secret, and numbers under such a name', () => {
    const pairs = [
      { name: 'DB_PASSWORD', value: 'hunter2' },
      { key: 'X-Api-Key', value: ['a', 'b'] },
      { name: 'PATH', value: '/usr/bin' },
      { name: 'the password', value: 'is typed here' },
    ];
    expect(redactContent(pairs)).toEqual([
      { name: 'DB_PASSWORD', value: redactionMark },
      { key: 'X-Api-Key', value: [redactionMark, redactionMark] },
      { name: 'PATH', value: '/usr/bin' },
      { name: 'the password', value: redactionMark },
    ]);
    expect(redactContent({ password: 12345678, max_tokens: 7, tokens: 9, cookie: 'a=b', monkey: 5 })).toEqual({
      password: redactionMark,
      max_tokens: 7,
      tokens: 9,
      cookie: redactionMark,
      monkey: 5,
    });
  });

  it('leaves commit ids beside an AWS key id', () => {
    const ids = ['a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6a1b2', 'A1B2C3D4E5F6A1B2C3D4E5F6A1B2C3D4E5F6A1B2'];
    expect(redactContent([`AKIA${'ABCD2345'.repeat(2)}`, ...ids])).toEqual([redactionMark, ...ids]);
  });

  it('finds every secret wherever it is cut, and leaves what stands around it', () => {
    const wordy = fc
      .array(fc.constantFrom('npm', 'run', 'a', 'file.ts', '--flag', 'x=1', 'path/to', '12'), { maxLength: 4 })
      .map((words) => words.join(' '));
    // What is encoded is found whole only.
    const whole = secrets.filter(([name, secret]) => !secret.startsWith('-----') && !name.endsWith('in base64'));
    fc.assert(
      fc.property(fc.constantFrom(...whole), fc.nat(), wordy, wordy, ([, secret], place, before, after) => {
        const cut = 1 + (place % (secret.length - 1));
        const [head, tail] = [secret.slice(0, cut), secret.slice(cut)];
        const marked = redactContent({ args: [before, `${before} ${head}`, `${tail} ${after}`, after] }) as { args: string[] };
        expect(marked.args.join('')).not.toContain(secret);
        expect([marked.args[0], marked.args[3]]).toEqual([before, after]);
        expect(marked.args[1]?.startsWith(`${before} `)).toBe(true);
        expect(marked.args[2]?.endsWith(` ${after}`)).toBe(true);
      }),
    );
  });

  it('finds every secret whatever stands around it, in a value and in the name of a member', () => {
    const around = fc.constantFrom('', ' ', '\n', '"', '=', 'é', '\u{1f600}', '\0', '/', ';', '%20 ', '{"a":"', 'x'.repeat(300));
    const id = '0190a0b0-1234-7abc-8def-0123456789ab';
    fc.assert(
      fc.property(fc.constantFrom(...secrets), around, around, ([, secret], before, after) => {
        const text = `${before.replace(/x$/, 'x ')}${secret}${after.replace(/^[x=/]/, ' $&')}`;
        for (const value of [text, [id, text, id], { a: { b: [id, { c: text }] } }, { [text]: id }, { id, [text]: [text] }])
          expect(JSON.stringify(redactContent(value))).not.toContain(JSON.stringify(secret).slice(1, -1));
      }),
    );
  });

  it('takes time in proportion to what it is given, also where very many secrets are cut in two or are names', () => {
    const costMs = (value: unknown): number => {
      const began = process.cpuUsage();
      expect(JSON.stringify(redactContent(value))).not.toContain('Ab12');
      const { user, system } = process.cpuUsage(began);
      return (user + system) / 1e3;
    };
    // 2 MB each, as a tool's input may have; walked through for each secret it would take minutes.
    expect(costMs(Array.from({ length: 80_000 }, () => ['x sk-ant-', 'api03-Ab12 x']).flat())).toBeLessThan(10_000);
    expect(costMs(Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`sk-ant-api03-Ab12${n}`, n])))).toBeLessThan(10_000);
  });

  it('leaves evidence of every kind, whatever its digits', () => {
    const hex = (length: number) => fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length });
    const evidenceOf = fc.oneof(
      hex(64).map((digits) => `sha256:${digits}`),
      hex(40),
      hex(64),
      fc.uuid(),
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
      hex(24).map((digits) => `toolu_01${digits}`),
    );
    fc.assert(
      fc.property(fc.array(evidenceOf, { minLength: 1, maxLength: 6 }), (list) => {
        expect(redactContent({ list, text: list.join(' ') })).toEqual({ list, text: list.join(' ') });
      }),
    );
  });

  it('answers the same value when there is nothing to mark', () => {
    const value = { tool: 'Bash', input: { command: 'npm test' } };
    expect(redactContent(value)).toBe(value);
  });
});

describe('redactBody', () => {
  const digest = `sha256:${'0a'.repeat(32)}`;
  const body = (data: Record<string, unknown>): LedgerBody => ({
    event_id: '0190a0b0-1234-7abc-8def-0123456789ab',
    org: 'default',
    stream: 'run-0190a0b0-1234-7abc-8def-0123456789ac',
    type: 'tool.requested',
    version: 1,
    actor: 'service:gate',
    occurred_at: '2026-11-29T20:00:00.000Z',
    data,
  });

  it('stores canonical bytes, unchanged when nothing is secret', () => {
    const clean = body({ tool_call_id: 'toolu_01', tool: 'Bash', input_digest: digest, generation: 1 });
    const redacted = redactBody(clean);
    expect(redacted.bytes().toString()).toBe(canonicalJson(clean));
    expect(redacted.body()).toEqual(clean);
  });

  it('marks a secret and never the evidence beside it', () => {
    const stored = redactBody(body({ sandbox_id: 'sk-ant-', input_digest: digest, code: `x sk-ant-${'api03-Ab12'}` })).body();
    expect(stored.data).toEqual({ sandbox_id: 'sk-ant-', input_digest: digest, code: `x ${redactionMark}` });
  });

  it('keeps a signed checkpoint, and marks a run token of the same shape', () => {
    const checkpoint = jwt({ alg: 'EdDSA', kid: 'k', typ: checkpointType });
    expect(redactBody(body({ jws: checkpoint })).body().data).toEqual({ jws: checkpoint });
    expect(redactBody(body({ jws: jwt({ alg: 'EdDSA', typ: 'fbx-run+jwt' }) })).body().data).toEqual({ jws: redactionMark });
  });

  it('says of its envelope what its text says', () => {
    const { type, version, actor, occurred_at } = redactBody(body({})).body();
    expect(redactBody(body({})).envelope()).toEqual({ type, version, actor, occurred_at });
    const named = redactBody({ ...body({}), actor: `principal:ghp_${'a1B2'.repeat(9)}` });
    expect(named.envelope().actor).toBe(`principal:${redactionMark}`);
    expect(named.body().actor).toBe(named.envelope().actor);
  });

  it('cannot be made or changed by anybody else', () => {
    const redacted = redactBody(body({}));
    const before = redacted.digest();
    redacted.bytes().fill(0);
    expect(redacted.digest()).toEqual(before);
    expect(() => new Redacted(Symbol('redactBody'), '{}', redacted.envelope())).toThrow('redactBody only');
    expect(Redacted.is(redacted)).toBe(true);
    expect(Redacted.is({ ...redacted })).toBe(false);
    expect(Redacted.is(Object.create(Redacted.prototype))).toBe(false);
  });
});
