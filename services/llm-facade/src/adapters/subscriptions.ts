import { ListBudgets, SetBudget } from '@fluidbox/contracts';
import { type CommandSubscription, subscribe } from '@fluidbox/service-kit';
import { listBudgets, setBudget } from '../app/budgets';
import type { Ports } from '../app/ports';

export const subscriptions = (ports: Ports): readonly CommandSubscription[] => [
  subscribe(SetBudget, (request) => setBudget(ports, request)),
  subscribe(ListBudgets, (request) => listBudgets(ports, request)),
];
