import { createLogger } from './logger';

describe('a log line', () => {
  const lines: string[] = [];
  const log = createLogger('gate', 'info', undefined, (line) => lines.push(line));
  afterEach(() => lines.splice(0));
  const secret = `sk-ant-api03-${'A1b2'.repeat(20)}`;

  it('holds no secret, wherever it stood', () => {
    log.info({ url: `https://x.test/?key=${secret}`, nested: { list: [secret] } }, `asked with ${secret}`);
    log.error({ err: new Error(`refused: ${secret}`) }, 'failed');
    expect(lines).toHaveLength(2);
    expect(lines.join('')).not.toContain(secret);
  });

  it('is one line of JSON with service, time and message', () => {
    log.warn({ run_id: 'r"1' }, 'two\nlines');
    expect(lines[0]?.endsWith('}\n')).toBe(true);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ service: 'gate', level: 40, run_id: 'r"1', msg: 'two\nlines' });
  });

  it('is not written below the level', () => {
    log.debug('chatter');
    expect(lines).toEqual([]);
  });
});
