import { DecideApproval } from '@fluidbox/contracts';
import { type CommandSubscription, subscribe } from '@fluidbox/service-kit';
import type { Ports } from '../app/ports';
import { settleApproval } from '../app/settle-approval';

export const subscriptions = (ports: Ports): readonly CommandSubscription[] => [
  subscribe(DecideApproval, (request) => settleApproval(ports, request)),
];
