import { ListParked, ListReadModels, Problem, type ReadModelName, RebuildReadModel, ReplayParked } from '@fluidbox/contracts';
import type { SqlClient } from '@fluidbox/event-store';
import { type CommandSubscription, subscribe } from '@fluidbox/service-kit';
import { askForReplay, parkedEvents } from './parked-table';
import { askForRebuild, readModels } from './rebuild-table';

export interface AdminPorts {
  readonly sql: SqlClient;
  /** Starts filling it, once it was asked for in the table. */
  readonly startRebuild: (name: ReadModelName) => void;
}

const mustBeAdmin = (role: string): void => {
  if (role !== 'admin') throw new Problem('forbidden', `role: this needs admin, the token has ${role}`);
};

export const subscriptions = ({ sql, startRebuild }: AdminPorts): readonly CommandSubscription[] => [
  subscribe(ListReadModels, () => readModels(sql)),
  subscribe(RebuildReadModel, async ({ principal, name }) => {
    mustBeAdmin(principal.role);
    await askForRebuild(sql, name);
    const asked = (await readModels(sql)).find((model) => model.name === name);
    if (asked === undefined) throw new Problem('not_found', `read model: there is no ${name}`);
    startRebuild(name);
    return asked;
  }),
  subscribe(ListParked, () => parkedEvents(sql)),
  subscribe(ReplayParked, ({ principal, follower, position }) => {
    mustBeAdmin(principal.role);
    return askForReplay(sql, follower, position);
  }),
];
