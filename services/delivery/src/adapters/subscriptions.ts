import {
  CreateWebhook,
  ListDeliveries,
  ListWebhooks,
  Redeliver,
  RemoveWebhook,
  RotateWebhookSecret,
  TestWebhook,
} from '@fluidbox/contracts';
import { type CommandSubscription, subscribe } from '@fluidbox/service-kit';
import { createWebhook, listDeliveries, listWebhooks, redeliver, removeWebhook, rotateSecret, testWebhook } from '../app/manage-webhooks';
import type { ManagePorts } from '../app/ports';

export const subscriptions = (ports: ManagePorts): readonly CommandSubscription[] => [
  subscribe(CreateWebhook, (request) => createWebhook(ports, request)),
  subscribe(ListWebhooks, (request) => listWebhooks(ports, request)),
  subscribe(RemoveWebhook, (request) => removeWebhook(ports, request)),
  subscribe(RotateWebhookSecret, (request) => rotateSecret(ports, request)),
  subscribe(TestWebhook, (request) => testWebhook(ports, request)),
  subscribe(ListDeliveries, (request) => listDeliveries(ports, request)),
  subscribe(Redeliver, (request) => redeliver(ports, request)),
];
