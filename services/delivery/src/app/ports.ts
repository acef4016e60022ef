import type {
  CreateWebhookBody,
  DeliveryReason,
  DeliveryState,
  DeliveryView,
  MessageType,
  Principal,
  WebhookMessage,
} from '@fluidbox/contracts';
import type { SqlClient } from '@fluidbox/event-store';
import type { Clock } from '@fluidbox/service-kit';
import type { Outcome } from '../domain/schedule';
import type { WebhookSecrets } from '../domain/secrets';

/** A webhook as it is stored, opened. */
export interface Webhook {
  readonly id: string;
  readonly org: string;
  readonly agent: string | null;
  readonly events: CreateWebhookBody['events'];
  readonly createdBy: string;
  readonly createdAt: Date;
  readonly disabledAt: Date | null;
  /** Null: what is sealed cannot be opened with this key, or is of a newer shape. */
  readonly secrets: WebhookSecrets | null;
}

export interface NewDelivery {
  readonly id: string;
  readonly webhookId: string;
  readonly org: string;
  readonly type: MessageType;
  readonly runId: string | null;
  readonly eventId: string | null;
  readonly message: WebhookMessage;
  readonly expiresAt: string | null;
}

/** Every change is one transaction with the event that records it. */
export interface WebhookTable {
  create(webhook: Webhook & { readonly secrets: WebhookSecrets }): Promise<void>;
  count(org: string): Promise<number>;
  list(org: string): Promise<readonly Webhook[]>;
  find(org: string, id: string): Promise<Webhook | null>;
  /** Destroys URL and secrets and cancels what is pending. False: there is no such webhook. */
  remove(org: string, id: string, by: string, now: Date): Promise<boolean>;
  /** Null: there is no such webhook. Throws when its secrets cannot be opened. */
  rotate(org: string, id: string, by: string, change: (secrets: WebhookSecrets) => WebhookSecrets): Promise<Webhook | null>;
}

/** Delivery taken by this process until its lease ends. */
export interface Claimed {
  readonly id: string;
  readonly webhookId: string;
  readonly type: MessageType;
  /** Of the attempt that is to begin, over all and in this schedule. */
  readonly attempt: number;
  readonly tries: number;
  readonly body: string;
  readonly expiresAt: number | null;
  /** Its receiver failed last. */
  readonly failing: boolean;
}

/** What an attempt sends. */
export interface Sending {
  readonly id: string;
  readonly body: string;
  /** Null as in `Webhook`: the attempt fails, and so does no other. */
  readonly secrets: WebhookSecrets | null;
}

export interface Settlement {
  readonly state: 'pending' | 'delivered' | 'dead';
  readonly status: number | null;
  readonly reason: DeliveryReason | null;
  readonly nextAttemptAt: Date | null;
  readonly disables: boolean;
}

export interface DeliveryTable {
  /** Through the transaction of a follower. What is there already, or belongs to a webhook that has gone, is left out. */
  add(deliveries: readonly NewDelivery[], now: Date, tx: SqlClient): Promise<void>;
  find(org: string, webhookId: string, id: string): Promise<DeliveryView | null>;
  list(org: string, webhookId: string, state: DeliveryState | null): Promise<readonly DeliveryView[]>;
  /** Settled ones only; false when it is pending or not there. */
  sendAgain(org: string, webhookId: string, id: string, now: Date): Promise<boolean>;
  /** Takes what is due: for each receiver a page, one while it fails, none while another process has something of it. */
  claim(options: { readonly room: number; readonly now: Date }): Promise<readonly Claimed[]>;
  /** What was claimed and not begun: anybody may take it. */
  giveBack(claimed: Claimed): Promise<void>;
  /**
   * Records that an attempt begins, with the bytes of this one and every later one, and leases it for long enough. Null: it is not to be sent, because its lease has
   * ended or the delivery was cancelled.
   */
  begin(claimed: Claimed, body: string, now: Date): Promise<Sending | null>;
  /** Records what came of the attempt. Nothing changes when the lease went to somebody else or the delivery was cancelled. */
  settle(claimed: Claimed, settlement: Settlement, now: Date): Promise<void>;
  /** When the next one is due or a lease ends. */
  nextDue(): Promise<number | null>;
  forgetSettledBefore(time: Date): Promise<void>;
}

export interface ManagePorts {
  readonly webhooks: WebhookTable;
  readonly deliveries: DeliveryTable;
  /** Outside any transaction. */
  readonly sql: SqlClient;
  readonly clock: Clock;
  readonly uuid: () => string;
  readonly generateSecret: () => string;
  readonly privateHosts: readonly string[];
  /** There is something to send. */
  readonly wake: () => void;
  /** There is something to record. */
  readonly record: () => Promise<void>;
}
export interface ByPrincipal {
  readonly principal: Principal;
  readonly webhook_id: string;
}

export interface CourierPorts {
  readonly table: Pick<DeliveryTable, 'claim' | 'giveBack' | 'begin' | 'settle' | 'nextDue'>;
  /** The body as it is to be sent. */
  readonly finish: (claimed: Claimed) => Promise<string>;
  readonly send: (sending: Sending, now: number) => Promise<Outcome>;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly chance: () => number;
  readonly record: () => Promise<void>;
  readonly onFailure: (doing: string, error: unknown) => void;
}
