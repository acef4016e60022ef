import { ListBudgets, ListUpstreams, RemoveUpstream, SetBudget, SetUpstream } from '@fluidbox/contracts';
import { type CommandSubscription, subscribe } from '@fluidbox/service-kit';
import { listBudgets, setBudget } from '../app/budgets';
import { listUpstreams, removeUpstream, setUpstream } from '../app/manage-upstreams';
import type { Ports } from '../app/ports';

export const subscriptions = (ports: Ports): readonly CommandSubscription[] => [
  subscribe(SetBudget, (request) => setBudget(ports, request)),
  subscribe(ListBudgets, (request) => listBudgets(ports, request)),
  subscribe(SetUpstream, (request) => setUpstream(ports, request)),
  subscribe(ListUpstreams, (request) => listUpstreams(ports, request)),
  subscribe(RemoveUpstream, (request) => removeUpstream(ports, request)),
];
