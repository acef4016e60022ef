import type { EventView } from '@fluidbox/contracts';
import { oneLine, paintFor, plain } from './paint';
import { timelineLine } from './timeline-line';

const event = (type: string, data: Record<string, unknown>, content: Record<string, unknown> | null = null): EventView => ({
  seq: 7,
  type,
  version: 1,
  actor: 'service:gate',
  occurred_at: '2026-11-29T10:00:01.500Z',
  data,
  content,
  hash: '0',
});
const noColour = paintFor({ isTTY: false }, {});
const startedAt = Date.parse('2026-11-29T10:00:00.000Z');

describe('a line of the timeline', () => {
  it('says what was denied and why', () => {
    const line = timelineLine(
      event('tool.decision', { tool: 'Bash', verdict: 'deny', source: 'policy' }, { reason: 'curl is denied', message: 'x' }),
      startedAt,
      noColour,
    );
    expect(line).toBe('   7    1.5s  tool.decision            DENY Bash by policy curl is denied');
  });

  it('leaves bookkeeping out and shows an event it does not know as it is', () => {
    expect(timelineLine(event('lease.granted', { generation: 1 }), startedAt, noColour)).toBeNull();
    expect(timelineLine(event('something.newer', { x: 1 }), startedAt, noColour)).toContain('{"x":1}');
  });

  it('never lets text of an agent steer the terminal', () => {
    const hostile = '\u001b]0;owned\u0007\u001b[2J\u202egnp.exe\u200b';
    const line = timelineLine(event('agent.message', { role: 'assistant' }, { text: hostile }), startedAt, noColour) ?? '';
    expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(line).toContain('\\u001b');
    expect(plain('tab\tand\nline stay')).toBe('tab\tand\nline stay');
  });

  it('colours only for a terminal without NO_COLOR', () => {
    expect(paintFor({ isTTY: true }, {}).red('x')).not.toBe('x');
    expect(paintFor({ isTTY: true }, { NO_COLOR: '1' }).red('x')).toBe('x');
    expect(paintFor({}, {}).red('x')).toBe('x');
  });

  it('cuts a long text to its width', () => {
    expect(oneLine('a  b\n c', 10)).toBe('a b c');
    expect(oneLine('x'.repeat(50), 10)).toHaveLength(10);
  });
});
