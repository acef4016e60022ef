import fs from 'node:fs';
import path from 'node:path';
import type { ToolCall } from '../projection';
import { ENGINE_VERSION } from '../version';
import { recordOf } from './recorded-calls.fixture';

/**
 * What this engine said of some five thousand calls. A line that differs means that the same call gets another answer than it was recorded
 * with: raise ENGINE_VERSION, look at each difference, and record anew with FLUIDBOX_RECORD=1.
 */
const file = path.join(__dirname, 'calls.jsonl');
type Line = readonly [call: ToolCall | string, ...recorded: ReturnType<typeof recordOf>];

const [first = '', ...lines] = fs.readFileSync(file, 'utf8').trimEnd().split('\n');
const recorded = lines.map((line) => JSON.parse(line) as Line);
const callOf = (call: ToolCall | string): ToolCall => (typeof call === 'string' ? { tool: 'Bash', input: { command: call } } : call);

if (process.env.FLUIDBOX_RECORD === '1') {
  const anew = recorded.map(([call]) => JSON.stringify([call, ...recordOf(callOf(call))]));
  fs.writeFileSync(file, `${[JSON.stringify({ engine: ENGINE_VERSION }), ...anew].join('\n')}\n`);
}

const linesOfTest = 60;
const parts = Array.from({ length: Math.ceil(recorded.length / linesOfTest) }, (_, i) => i * linesOfTest);

describe('the same call gets the answer that this version of the engine recorded', () => {
  it('is this version', () => {
    expect(JSON.parse(first)).toEqual({ engine: ENGINE_VERSION });
    expect(recorded.length).toBeGreaterThan(4000);
  });
  it.each(parts)('from line %d on', (from) => {
    for (const [call, ...was] of recorded.slice(from, from + linesOfTest))
      expect([call, ...recordOf(callOf(call))]).toEqual([call, ...was]);
  });
});
