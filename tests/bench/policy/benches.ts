import { performance } from 'node:perf_hooks';
import { compilePolicy, evaluateProjection, gateProjection } from '@fluidbox/policy';
import { seedPolicies } from '@fluidbox/policy/seeds';
import { canonicalJson, redactContent } from '@fluidbox/redaction';
import { sha256Hex } from '@fluidbox/seal';
import { type Bench, measureRounds, quantile, type Side } from '../support/measure';
import { type AskedCall, askedCalls, casbinOf, cedarAllows, ourPolicy, peers, prepareCedar, projectionOf, weAllow } from './hundred-rules';

/** Median microseconds of one decision: small batches, because one alone is near what the clock can tell. */
function medianMicroseconds(batch: number, decideAll: () => void | Promise<void>): Side {
  return async (ms) => {
    const times: number[] = [];
    const until = performance.now() + ms;
    do {
      const started = performance.now();
      await decideAll();
      times.push(((performance.now() - started) * 1000) / batch);
    } while (performance.now() < until);
    return quantile(times, 0.5);
  };
}

function expectAnswer(who: string, { tool, path, isAllowed }: AskedCall, said: boolean): void {
  if (said !== isAllowed) throw new Error(`${who} says ${said ? 'allow' : 'deny'} to ${tool} ${path}`);
}

const rules = 100;
export const policyPeers: Bench = {
  id: 'C1',
  what: 'policy on a parsed call, 100 rules',
  unit: 'µs',
  sides: { ours: 'evaluateProjection', casbin: 'casbin enforceSync', cedar: 'cedar-wasm, policies parsed before' },
  checks: [
    { name: 'median time, µs', op: '<=', goal: 5, stretch: 2, ours: 'ours', peer: 1 },
    { name: 'casbin is slower by', op: '>=', goal: 50, ours: 'casbin', peer: 'ours' },
    { name: 'cedar-wasm is slower by', op: '>=', goal: 50, ours: 'cedar', peer: 'ours' },
  ],
  async run(plan) {
    const calls = askedCalls(rules);
    const parsed = calls.map((call) => ({ call, projection: projectionOf(call) }));
    const policy = ourPolicy(rules);
    const casbin = await casbinOf(rules);
    prepareCedar(rules);
    let decided = 0;
    const rounds = await measureRounds(plan, {
      ours: medianMicroseconds(parsed.length * 50, () => {
        for (let i = 0; i < 50; i++) for (const { call, projection } of parsed) expectAnswer('ours', call, weAllow(policy, projection));
        decided += parsed.length * 50;
      }),
      casbin: medianMicroseconds(calls.length, () => {
        for (const call of calls) expectAnswer('casbin', call, casbin.enforceSync(call.tool, call.path));
      }),
      cedar: medianMicroseconds(calls.length, () => {
        for (const call of calls) expectAnswer('cedar', call, cedarAllows(call));
      }),
    });
    return { rounds, verified: `all three give the same ${calls.length} answers; ${decided} decisions of ours`, settings: peers() };
  },
};

/** What agents send, as JSON: six of ten are commands. */
const inputs: readonly (readonly [tool: string, json: string])[] = [
  ['Bash', JSON.stringify({ command: 'git status --short | head -5', description: 'see what changed' })],
  ['Bash', JSON.stringify({ command: 'npm test 2>&1 | tail -20' })],
  ['Bash', JSON.stringify({ command: 'cd src && grep -rn "export const" --include=*.ts . | sort | head' })],
  ['Bash', JSON.stringify({ command: 'cat package.json && node --test' })],
  ['Bash', JSON.stringify({ command: 'git add -A && git commit -m "fix: the parser reads the last line"' })],
  ['Bash', JSON.stringify({ command: 'for f in src/*.js; do node --check "$f"; done' })],
  ['Read', JSON.stringify({ file_path: '/workspace/src/index.ts' })],
  ['Edit', JSON.stringify({ file_path: '/workspace/src/a.ts', old_string: 'return a;', new_string: 'return a + b;\n'.repeat(20) })],
  ['Write', JSON.stringify({ file_path: '/workspace/test/a.test.ts', content: 'expect(sum(1, 2)).toBe(3);\n'.repeat(40) })],
  ['Grep', JSON.stringify({ pattern: 'TODO', path: '/workspace/src' })],
];

export const policyFromJson: Bench = {
  id: 'C1b',
  what: 'JSON input → verdict: parsed, shell tree, digest, redaction; 60 % Bash',
  unit: 'µs',
  sides: { ours: 'JSON.parse, gateProjection, digest, redaction, evaluate under the default policy', parse: 'JSON.parse alone' },
  checks: [{ name: 'median time, µs', op: '<=', goal: 25, stretch: 15, ours: 'ours', peer: 1 }],
  async run(plan) {
    const [seed] = seedPolicies();
    if (seed === undefined) throw new Error('there is no default policy');
    const policy = compilePolicy(seed.document);
    let allowed = 0;
    let decided = 0;
    const decide = (tool: string, json: string): void => {
      const input = JSON.parse(json);
      const projection = gateProjection({ tool, input });
      const { verdict } = evaluateProjection(policy, projection);
      const digest = sha256Hex(canonicalJson(input));
      redactContent({ input });
      decided++;
      if (verdict === 'allow' && digest !== '') allowed++;
    };
    const rounds = await measureRounds(plan, {
      ours: medianMicroseconds(inputs.length * 5, () => {
        for (let i = 0; i < 5; i++) for (const [tool, json] of inputs) decide(tool, json);
      }),
      parse: medianMicroseconds(inputs.length * 5, () => {
        for (let i = 0; i < 5; i++) for (const [, json] of inputs) JSON.parse(json);
      }),
    });
    if (allowed / decided !== 0.9) throw new Error(`${allowed} of ${decided} were allowed, and nine of ten should be`);
    return { rounds, verified: `${decided} calls decided, nine of ten allowed`, settings: peers() };
  },
};

const [few, many] = [10, 10_000];
export const policyGrowth: Bench = {
  id: 'C2',
  what: `policy on a parsed call, ${many} rules against ${few}`,
  unit: 'µs',
  sides: { many: `${many} rules`, few: `${few} rules` },
  checks: [{ name: 'ratio', op: '<=', goal: 5, stretch: 2, ours: 'many', peer: 'few' }],
  async run(plan) {
    let decided = 0;
    const sideOf = (count: number): Side => {
      const policy = ourPolicy(count);
      const parsed = askedCalls(count).map((call) => ({ call, projection: projectionOf(call) }));
      return medianMicroseconds(parsed.length * 20, () => {
        for (let i = 0; i < 20; i++) for (const { call, projection } of parsed) expectAnswer('ours', call, weAllow(policy, projection));
        decided += parsed.length * 20;
      });
    };
    const rounds = await measureRounds(plan, { many: sideOf(many), few: sideOf(few) });
    return { rounds, verified: `${decided} decisions, each the expected one`, settings: peers() };
  },
};
