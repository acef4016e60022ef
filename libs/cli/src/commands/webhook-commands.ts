import { deliveryStates, type WebhookEvent, webhookEvents } from '@fluidbox/contracts';
import { type Command, Option } from 'commander';
import { call } from './calling';
import { withJson } from './options';
import {
  addWebhookCommand,
  listDeliveriesCommand,
  listWebhooksCommand,
  redeliverCommand,
  removeWebhookCommand,
  rotateWebhookCommand,
  testWebhookCommand,
} from './webhooks';

interface Json {
  json?: boolean;
}

export function registerWebhooks(program: Command): void {
  const webhook = program.command('webhook').description('who is told of waiting approvals and of results');
  withJson(webhook.command('add <url>'))
    .description('tell a URL from now on; prints the secret that signs, this once')
    .addOption(new Option('--event <event...>', 'what to tell').choices(webhookEvents).default([...webhookEvents]))
    .option('--agent <name>', 'only of runs of this agent')
    .action((url: string, { json, ...options }: Json & { event: WebhookEvent[]; agent?: string }) =>
      call(json, (api, output) => addWebhookCommand(api, { url, ...options }, output)),
    );
  withJson(webhook.command('list'))
    .description('webhooks of the organisation')
    .action(({ json }: Json) => call(json, listWebhooksCommand));
  withJson(webhook.command('remove <id>'))
    .description('tell it nothing more; what waits is cancelled')
    .action((id: string, { json }: Json) => call(json, (api, output) => removeWebhookCommand(api, id, output)));
  withJson(webhook.command('rotate <id>'))
    .description('make a new secret; the old one signs beside it for a day')
    .action((id: string, { json }: Json) => call(json, (api, output) => rotateWebhookCommand(api, id, output)));
  withJson(webhook.command('test <id>'))
    .description('send a message and wait for the answer')
    .action((id: string, { json }: Json) => call(json, (api, output) => testWebhookCommand(api, id, output)));
  withJson(webhook.command('deliveries <id>'))
    .description('how the newest 100 stand')
    .addOption(new Option('--state <state>', 'only these').choices(deliveryStates))
    .action((id: string, { json, ...options }: Json & Parameters<typeof listDeliveriesCommand>[2]) =>
      call(json, (api, output) => listDeliveriesCommand(api, id, options, output)),
    );
  withJson(webhook.command('redeliver <id> <delivery>'))
    .description('send a settled one again, under the same id')
    .action((id: string, delivery: string, { json }: Json) => call(json, (api, output) => redeliverCommand(api, id, delivery, output)));
}
