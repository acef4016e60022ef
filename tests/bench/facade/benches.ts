import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { type Bench, measureRounds, type Plan, quantile, type Round } from '../support/measure';
import { requestOf } from './answers';
import { keepAsking, post, type Way } from './load';
import { openWays, type Ways } from './ways';

const sides = {
  ours: 'the facade: token, screening, reservation and booking in Postgres',
  direct: 'the provider itself',
  portkey: 'the Portkey gateway 1.15.2 (on its streams a shim, see facade/portkey-headers.cjs)',
  pipe: 'a blind pipe: bytes from one HTTP connection to the other',
};
type Name = keyof typeof sides;
const names: readonly Name[] = ['ours', 'direct', 'portkey', 'pipe'];

/** What a side adds to the provider itself, in the same round. */
const withAdditions = (rounds: readonly Round[]): Round[] =>
  rounds.map((round) => {
    const added = (name: Name): number => (round[name] ?? Number.NaN) - (round.direct ?? Number.NaN);
    return { ...round, 'ours adds': added('ours'), 'portkey adds': added('portkey'), 'pipe adds': added('pipe') };
  });
const additions = {
  'ours adds': 'what the facade adds to the provider',
  'portkey adds': 'what the Portkey gateway adds',
  'pipe adds': 'what the blind pipe adds',
};

interface Shape {
  readonly callers: (plan: Plan) => number;
  /** The figure of one slice on one way. */
  slice(ways: Ways, way: Way, ms: number, plan: Plan): Promise<number>;
}

const benchOf = (bench: Omit<Bench, 'run' | 'sides'>, shape: Shape, adds = false): Bench => ({
  ...bench,
  sides: { ...sides, ...(adds ? additions : {}) },
  async run(plan, start) {
    const servers = await start();
    const ways = await openWays(servers, shape.callers(plan));
    try {
      const work = (name: Name) => async (ms: number) => {
        if (name === 'ours') await ways.renewRuns();
        return shape.slice(ways, ways[name], ms, plan);
      };
      const measured = await measureRounds(plan, Object.fromEntries(names.map((name) => [name, work(name)])));
      const rounds = adds ? withAdditions(measured) : measured;
      return { rounds, verified: await ways.verify(), settings: { ...(await servers.settings()), callers: String(shape.callers(plan)) } };
    } finally {
      await ways.stop();
    }
  },
});

const question = requestOf({ stream: false });

export const oneCaller = benchOf(
  {
    id: 'D1',
    what: 'answers in one piece, 1 caller: median time',
    unit: 'ms',
    checks: [{ name: 'added: ours / portkey', op: '<=', goal: 0.2, stretch: 0.1, ours: 'ours adds', peer: 'portkey adds' }],
  },
  {
    callers: () => 1,
    slice: async (_ways, way, ms) => {
      const answers = await keepAsking(1, ms, (caller) => post(way, caller, question));
      return quantile(
        answers.map(({ totalMs }) => totalMs),
        0.5,
      );
    },
  },
  true,
);

const perSecond = async (ms: number, work: () => Promise<number>): Promise<number> => {
  const began = performance.now();
  const done = await work();
  return (done * 1_000) / Math.max(ms, performance.now() - began);
};

export const manyCallers = benchOf(
  {
    id: 'D2',
    what: 'answers in one piece, 32 callers in 32 runs',
    unit: 'requests/s',
    checks: [{ name: 'ours / portkey', op: '>=', goal: 5, stretch: 10, ours: 'ours', peer: 'portkey' }],
  },
  {
    callers: () => 32,
    slice: (_ways, way, ms) => perSecond(ms, async () => (await keepAsking(32, ms, (caller) => post(way, caller, question))).length),
  },
);

export const firstByte = benchOf(
  {
    id: 'D3',
    what: 'first byte of a stream, 1 caller: median time',
    unit: 'ms',
    checks: [{ name: 'added: ours / portkey', op: '<=', goal: 0.2, stretch: 0.05, ours: 'ours adds', peer: 'portkey adds' }],
  },
  {
    callers: () => 1,
    slice: async (ways, way, ms) => {
      const answers = await keepAsking(1, ms, (caller) => ways.stream(way, caller, 8));
      return quantile(
        answers.map(({ firstByteMs }) => firstByteMs),
        0.5,
      );
    },
  },
  true,
);

const load = ({ size }: Plan): { streams: number; pieces: number } =>
  size === 'toy' ? { streams: 4, pieces: 5 } : { streams: 64, pieces: 50 };
const startsOverMs = 500;

export const pacedStreams = benchOf(
  {
    id: 'D4',
    what: `64 streams of 50 pieces, one every 20 ms, begun one after the other within ${startsOverMs} ms: median time of a stream`,
    unit: 'ms',
    checks: [{ name: 'ours / direct', op: '<=', goal: 1.03, stretch: 1.01, ours: 'ours', peer: 'direct' }],
  },
  {
    callers: (plan) => load(plan).streams,
    slice: async (ways, way, _ms, plan) => {
      const { streams, pieces } = load(plan);
      const one = async (caller: number): Promise<number> => {
        await pause((caller * startsOverMs) / streams);
        return (await ways.stream(way, caller, pieces, 'paced:20')).totalMs;
      };
      return quantile(await Promise.all(Array.from({ length: streams }, (_, caller) => one(caller))), 0.5);
    },
  },
);

/** A long answer: about a megabyte. */
const flatPieces = 8_000;
export const flatOutStreams = benchOf(
  {
    id: 'D5',
    what: `8 streams at once of ${flatPieces} pieces as fast as they are taken`,
    unit: 'MB/s',
    checks: [
      { name: 'ours / direct', op: '>=', goal: 0.5, stretch: 0.7, ours: 'ours', peer: 'direct' },
      { name: 'ours / portkey', op: '>=', goal: 2.5, ours: 'ours', peer: 'portkey' },
      { name: 'ours / pipe', op: '>=', goal: 0.8, ours: 'ours', peer: 'pipe' },
    ],
  },
  {
    callers: () => 8,
    slice: (ways, way, ms) =>
      perSecond(ms, async () => {
        const answers = await keepAsking(8, ms, (caller) => ways.stream(way, caller, flatPieces));
        return answers.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6;
      }),
  },
);
