import http from 'node:http';
import { performance } from 'node:perf_hooks';
import { type Bench, measureRounds, quantile, type Round } from '../support/measure';
import { Endings, startWebhookWorld, type WebhookWorld } from './world';

const bodyBytes = 700;

/** One POST after the other over one kept connection, as nobody does it who has to know what came of it. */
async function postLoop(url: string, ms: number): Promise<number> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const body = 'x'.repeat(bodyBytes);
  const once = (): Promise<void> =>
    new Promise((done, failed) => {
      const request = http.request(url, { method: 'POST', agent, headers: { 'content-length': bodyBytes } }, (response) => {
        response.resume();
        response.on('end', done);
      });
      request.on('error', failed);
      request.end(body);
    });
  const began = performance.now();
  let posts = 0;
  for (; performance.now() - began < ms; posts += 1) await once();
  agent.destroy();
  return (posts * 1_000) / (performance.now() - began);
}

export const firstAttempt: Bench = {
  id: 'H1',
  what: 'webhooks: a result is committed → the first attempt arrives, delivery and projector as processes of their own',
  unit: 'ms',
  sides: {
    p50: 'commit of the end of a run → message at the receiver, its head signed, one run after the other; median',
    p99: 'the slowest of 100',
    rate: 'runs that end at once, messages to one receiver that come per second',
    post: 'a bare POST loop to the same receiver, per second (control)',
  },
  checks: [
    { name: 'p50 / 100 ms', op: '<=', goal: 1, ours: 'p50', peer: 100 },
    { name: 'rate / POST loop', op: '>=', goal: 0.5, stretch: 0.7, ours: 'rate', peer: 'post' },
  ],
  async run(plan, start) {
    const servers = await start();
    const world = await startWebhookWorld(servers);
    try {
      await world.subscribe('answers');
      const endings = new Endings(world);
      let ended = 0;
      const oneByOne = async (ms: number): Promise<Round> => {
        const times: number[] = [];
        for (const until = performance.now() + ms; performance.now() < until || times.length === 0; ended += 1)
          times.push(...(await endings.end(await world.newRun(), 1)));
        return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
      };
      const together = plan.size === 'toy' ? 8 : 256;
      const burst = async (): Promise<number> => {
        const runs = await Promise.all(Array.from({ length: together }, () => world.newRun()));
        const began = performance.now();
        await Promise.all(runs.map((run) => endings.end(run, 1)));
        ended += together;
        return (together * 1_000) / (performance.now() - began);
      };
      const rounds = await measureRounds(plan, { latency: oneByOne, rate: burst, post: (ms) => postLoop(world.url, ms) });
      return {
        rounds,
        verified: `${ended} results came once, ${world.heads.signed} of ${world.heads.signed + world.heads.unsigned} with their head signed`,
        settings: { ...(await servers.settings()), 'ended at once': String(together), receivers: '1' },
      };
    } finally {
      await world.stop();
    }
  },
};

const receivers = { toy: 5, usual: 100, full: 100 } as const;

export const deadReceiver: Bench = {
  id: 'H2',
  what: 'webhooks: one receiver of 100 never answers; commit → first attempt at the others, each side with its own servers and processes',
  unit: 'ms',
  sides: { dead: 'p50 of the 99 others', healthy: 'p50 of 99 of 100 that all answer' },
  checks: [{ name: 'dead / healthy', op: '<=', goal: 1.2, stretch: 1.05, ours: 'dead', peer: 'healthy' }],
  async run(plan, start) {
    const servers = await start();
    const count = receivers[plan.size];
    const worlds: WebhookWorld[] = [];
    const open = async (at: typeof servers): Promise<WebhookWorld> => {
      const world = await startWebhookWorld(at);
      worlds.push(world);
      for (let n = 1; n < count; n += 1) await world.subscribe('answers');
      return world;
    };
    try {
      const dead = await open(await servers.apart());
      const backlog = plan.size === 'toy' ? 12 : 300;
      await dead.test(await dead.subscribe('silent'), backlog);
      const healthy = await open(await servers.apart());
      await healthy.subscribe('answers');
      let ended = 0;
      const sideOf = (world: WebhookWorld, answering: number) => {
        const endings = new Endings(world);
        return async (ms: number): Promise<number> => {
          const times: number[] = [];
          for (const until = performance.now() + ms; performance.now() < until || times.length === 0; ended += 1)
            times.push(...(await endings.end(await world.newRun(), answering)));
          return quantile(times, 0.5);
        };
      };
      const rounds = await measureRounds(plan, { dead: sideOf(dead, count - 1), healthy: sideOf(healthy, count) });
      if (dead.attemptsAtSilent() === 0) throw new Error('nothing was sent to the receiver that never answers');
      return {
        rounds,
        verified: `${ended} results came to every receiver that answers; ${dead.attemptsAtSilent()} attempts hang or hung at the other`,
        settings: { ...(await servers.settings()), receivers: String(count), 'waiting for the dead one at first': String(backlog) },
      };
    } finally {
      for (const world of worlds) await world.stop();
    }
  },
};
