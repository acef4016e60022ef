import { setTimeout as delay } from 'node:timers/promises';
import type { CreateWebhookBody, DeliveryState, DeliveryView, WebhookEvent } from '@fluidbox/contracts';
import type { ApiClient } from '../api/client';
import { exitCodes } from '../exit-codes';
import { CommandFailure } from '../failure';
import { type Output, table } from '../output';

export async function addWebhookCommand(
  api: ApiClient,
  options: { url: string; event: WebhookEvent[]; agent?: string },
  output: Output,
): Promise<number> {
  const body: CreateWebhookBody = {
    url: options.url,
    events: options.event,
    ...(options.agent === undefined ? {} : { agent: options.agent }),
  };
  const made = await api.createWebhook(body);
  output.out(output.json ? JSON.stringify(made) : made.secret);
  output.err(`webhook ${made.id}: ${made.events.join(', ')}; the secret is shown this once`);
  return exitCodes.ok;
}

export async function listWebhooksCommand(api: ApiClient, output: Output): Promise<number> {
  const { data } = await api.webhooks();
  const rows = data.map(({ id, url, events, agent, disabled_at }) => [
    id,
    events.join(' '),
    agent ?? 'all',
    url === null ? 'cannot be opened: remove it' : disabled_at === null ? 'live' : `ended by its receiver ${disabled_at}`,
    url ?? '-',
  ]);
  output.out(output.json ? JSON.stringify(data) : table([['ID', 'EVENTS', 'AGENT', 'STATE', 'URL'], ...rows]));
  return exitCodes.ok;
}

export async function removeWebhookCommand(api: ApiClient, id: string, output: Output): Promise<number> {
  await api.removeWebhook(id);
  output.out(output.json ? JSON.stringify({ removed: id }) : `removed ${id}`);
  return exitCodes.ok;
}

export async function rotateWebhookCommand(api: ApiClient, id: string, output: Output): Promise<number> {
  const made = await api.rotateWebhook(id);
  output.out(output.json ? JSON.stringify(made) : made.secret);
  output.err(`the secret is shown this once; the old one signs beside it until ${made.old_secret_until}`);
  return exitCodes.ok;
}

const row = ({ id, type, run_id, state, attempts, last_status, reason, next_attempt_at }: DeliveryView): string[] => [
  id,
  type,
  run_id ?? '-',
  state,
  String(attempts),
  [last_status ?? '', reason ?? ''].join(' ').trim(),
  next_attempt_at ?? '-',
];

export async function listDeliveriesCommand(
  api: ApiClient,
  webhook: string,
  options: { state?: DeliveryState },
  output: Output,
): Promise<number> {
  const { data } = await api.deliveries(webhook, options.state);
  const head = ['ID', 'TYPE', 'RUN', 'STATE', 'ATTEMPTS', 'LAST ANSWER', 'NEXT'];
  output.out(output.json ? JSON.stringify(data) : table([head, ...data.map(row)]));
  return exitCodes.ok;
}

const lookEveryMs = 200;
/** Longer than an attempt may take. */
const lookMsMax = 15_000;

/** Sends a message and waits for what came of the first attempt. */
export async function testWebhookCommand(api: ApiClient, webhook: string, output: Output): Promise<number> {
  return told(api, webhook, await api.testWebhook(webhook), output);
}

export async function redeliverCommand(api: ApiClient, webhook: string, delivery: string, output: Output): Promise<number> {
  return told(api, webhook, await api.redeliver(webhook, delivery), output);
}

async function told(api: ApiClient, webhook: string, asked: DeliveryView, output: Output): Promise<number> {
  let seen = asked;
  const isOpen = (): boolean => seen.state === 'pending' && seen.reason === null;
  for (const until = Date.now() + lookMsMax; isOpen() && Date.now() < until; ) {
    await delay(lookEveryMs);
    seen = (await api.deliveries(webhook)).data.find(({ id }) => id === asked.id) ?? seen;
  }
  if (output.json) output.out(JSON.stringify(seen));
  if (seen.state !== 'delivered') throw new CommandFailure(output.json ? '' : notTold(seen), exitCodes.run_failed);
  if (!output.json) output.out(`delivered ${seen.id}: the receiver answered ${seen.last_status}`);
  return exitCodes.ok;
}

const notTold = ({ id, state, reason, last_status, next_attempt_at }: DeliveryView): string => {
  const answer = last_status === null ? (reason ?? 'nothing yet') : `${last_status} (${reason})`;
  return `${id} is ${state}: ${answer}${next_attempt_at === null ? '' : `; next attempt ${next_attempt_at}`}`;
};
