import { type Bench, judge, plan } from '../../bench/support/measure';
import { jsonReport, report } from '../../bench/support/report';
import { startServers } from '../../bench/support/servers';
import { stopOnInterruption } from '../interruption';

/** A bench at the size of the promise. Unlike the bench itself this fails when a goal is missed. `bench.test.ts` does the same work at toy size. */
export const proveGoals =
  (bench: Bench) =>
  async (say: (text: string) => void, print: (text: string) => void, json: boolean): Promise<number> => {
    say(`${bench.id} at full size: ${bench.what}`);
    const servers = await startServers();
    const stopOn = stopOnInterruption(() => servers.stop());
    try {
      const figures = await bench.run({ ...plan, size: 'full' }, async () => servers);
      const checks = bench.checks.map((check) => judge(check, figures.rounds));
      print((json ? jsonReport : report)(bench, figures, checks).trimEnd());
      return checks.every(({ pass }) => pass) ? 0 : 1;
    } finally {
      stopOn.dispose();
      await servers.stop();
    }
  };
