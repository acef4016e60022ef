import { execFile } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { withSystemStack } from '../system/support/with-stack';
import { type Bench, type Plan, quantile, type Round } from './support/measure';

const run = promisify(execFile);
/** What a machine needs anyway for the nearest thing without us: a bare sandbox that starts Node and ends. */
const bareSandbox = ['--unshare-all', '--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', process.execPath, '-e', '0'];
const secondsMax = 3;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

/** One run after another on a warm stack; the goal is absolute (3 s), so it is written as the ratio to three seconds. */
export const launch: Bench = {
  id: 'launch',
  what: 'create → first request of the runner’s agent program to the model, warm',
  unit: 'ms',
  sides: { ours: 'a run of the real agent program', theirs: `the bound of ${secondsMax} s`, control: 'a bare sandbox that starts Node' },
  checks: [{ name: 'launch / 3 s', op: '<=', goal: 1, ours: 'ours', peer: 'theirs' }],
  async run({ rounds }: Plan) {
    const arrivals: (() => void)[] = [];
    const script = () => {
      arrivals.shift()?.();
      return { text: 'done' };
    };
    return withSystemStack({ script }, async (stack) => {
      await stack.admin.createAgent({ name: 'launch', policy: 'default' });
      const once = async (): Promise<number> => {
        const first = new Promise<void>((resolve) => arrivals.push(resolve));
        const started = performance.now();
        const { session } = await stack.admin.createSession({ agent: 'launch', task: 'say done' });
        await first;
        const took = performance.now() - started;
        for await (const event of stack.admin.watch(session.id)) if (event.type === 'run.result') break;
        return took;
      };
      await once();
      const measured: Round[] = [];
      for (let round = 0; round < rounds; round++)
        measured.push({ ours: await once(), theirs: secondsMax * 1_000, control: await timed(() => run('bwrap', bareSandbox)) });
      const p50 = quantile(
        measured.map(({ ours }) => ours ?? Number.NaN),
        0.5,
      );
      return {
        rounds: measured,
        verified: `${rounds} runs ended; p50 ${p50.toFixed(0)} ms`,
        settings: { node: process.version, mode: stack.up.mode },
      };
    });
  },
};
