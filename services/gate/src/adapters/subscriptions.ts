import { EvaluateEdit, RequestPermission } from '@fluidbox/contracts';
import { type CommandSubscription, subscribe } from '@fluidbox/service-kit';
import { evaluateEdit } from '../app/evaluate-edit';
import type { Ports } from '../app/ports';
import { requestPermission } from '../app/request-permission';

export const subscriptions = (ports: Ports): readonly CommandSubscription[] => [
  subscribe(RequestPermission, (request) => requestPermission(ports, request)),
  subscribe(EvaluateEdit, (request) => evaluateEdit(ports, request)),
];
