import type { StreamRef } from '@fluidbox/contracts';
import {
  type Append,
  appendOurs,
  appendWithEmmett,
  appendWithNotify,
  bareCommit,
  bareRow,
  newRuns,
  peerConnections,
  rate,
  verifyAcknowledged,
} from './append-sides';
import { type Bench, type Figures, measureRounds, medianTime, type Round } from './support/measure';
import type { Servers } from './support/servers';

interface AppendSides {
  readonly streams: readonly StreamRef[];
  readonly ours: Append;
  readonly notify: Append;
  readonly emmett: Append;
  readonly commit: () => Promise<void>;
  readonly row: () => Promise<void>;
}

async function withSides(callers: number, servers: Servers, work: (sides: AppendSides) => Promise<readonly Round[]>): Promise<Figures> {
  const gate = await servers.context('gate');
  const acknowledged = new Map<StreamRef, number>();
  const emmett = await appendWithEmmett(servers);
  try {
    const rounds = await work({
      streams: newRuns(callers),
      ours: appendOurs(gate, acknowledged),
      notify: await appendWithNotify(servers),
      emmett: emmett.append,
      commit: await bareCommit(servers),
      row: await bareRow(servers),
    });
    const verified = await verifyAcknowledged(gate, acknowledged);
    const settings = { callers: String(callers), 'peer connections': String(peerConnections), emmett: '0.42.0' };
    return { rounds, verified, settings: { ...(await servers.settings()), ...settings } };
  } finally {
    await emmett.close();
  }
}

/** Every caller appends to a stream of its own, on our side and on the peer's, in turns. */
const against =
  (callers: number, peer: 'emmett' | 'notify'): Bench['run'] =>
  async (plan, start) =>
    withSides(callers, await start(), (sides) =>
      measureRounds(plan, {
        ours: rate('ours', sides.streams, sides.ours),
        [peer]: rate(peer, sides.streams, sides[peer]),
        commits: rate('commits', sides.streams.slice(0, 1), sides.commit),
      }),
    );

const ours = 'the appender of a service: redacted, chained, published';
const commits = 'bare one-row commits, 1 caller (control)';
const emmettSide = 'Emmett appendToStream, one event a call';

export const appendAgainstEmmett: Bench = {
  id: 'A1',
  what: 'append, 64 callers against Emmett',
  unit: 'events/s',
  sides: { ours, emmett: emmettSide, commits },
  checks: [{ name: 'ours / Emmett', op: '>=', goal: 5, stretch: 8, ours: 'ours', peer: 'emmett' }],
  run: against(64, 'emmett'),
};

export const appendAgainstNotify: Bench = {
  id: 'A2',
  what: 'append, 64 callers against one event per transaction with NOTIFY',
  unit: 'events/s',
  sides: { ours, notify: 'one event per transaction, NOTIFY inside', commits },
  checks: [{ name: 'ours / NOTIFY', op: '>=', goal: 6, stretch: 10, ours: 'ours', peer: 'notify' }],
  run: against(64, 'notify'),
};

export const appendManyCallers: Bench = {
  id: 'A3',
  what: 'append, 300 callers against Emmett',
  unit: 'events/s, p99 in ms',
  sides: { ours, 'ours p99': 'its slowest of 100', emmett: emmettSide, 'emmett p99': 'its slowest of 100', commits },
  checks: [
    { name: 'ours / Emmett', op: '>=', goal: 6, stretch: 10, ours: 'ours', peer: 'emmett' },
    { name: 'p99 / Emmett', op: '<=', goal: 1 / 3, stretch: 1 / 5, ours: 'ours p99', peer: 'emmett p99' },
  ],
  run: against(300, 'emmett'),
};

export const appendOne: Bench = {
  id: 'A4',
  what: 'append, 1 caller: median time',
  unit: 'ms',
  sides: {
    ours,
    commit: 'a bare one-row commit',
    row: 'a row like ours with the same unique indexes, nothing else (control)',
    emmett: emmettSide,
    notify: 'one event per transaction, NOTIFY inside (control)',
  },
  checks: [
    { name: 'ours / commit', op: '<=', goal: 1.3, stretch: 1.1, ours: 'ours', peer: 'commit' },
    { name: 'ours / Emmett', op: '<=', goal: 1 / 2, ours: 'ours', peer: 'emmett' },
  ],
  run: async (plan, start) =>
    withSides(1, await start(), (sides) => {
      const [stream] = sides.streams as [StreamRef];
      return measureRounds(plan, {
        ours: (ms) => medianTime(ms, () => sides.ours(stream)),
        commit: (ms) => medianTime(ms, sides.commit),
        row: (ms) => medianTime(ms, sides.row),
        emmett: (ms) => medianTime(ms, () => sides.emmett(stream)),
        notify: (ms) => medianTime(ms, () => sides.notify(stream)),
      });
    }),
};
