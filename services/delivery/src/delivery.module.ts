import { setTimeout as wait } from 'node:timers/promises';
import { loadKek } from '@fluidbox/seal';
import type { ServiceContext } from '@fluidbox/service-kit';
import { type DynamicModule, Module } from '@nestjs/common';
import { checkpoints } from './adapters/checkpoints';
import { deliveryTable } from './adapters/delivery-table';
import type { FollowerPorts } from './adapters/follower';
import { recorder } from './adapters/outbox';
import { postVia } from './adapters/post';
import { sendSigned } from './adapters/send';
import { generateSecret } from './adapters/signature';
import { secretBox, webhookTable } from './adapters/webhook-table';
import { Courier } from './app/courier';
import { finishMessage } from './app/finish-message';
import type { LifecyclePorts } from './app/lifecycle';
import type { CourierPorts, ManagePorts } from './app/ports';
import type { Config } from './config';

export const MANAGE = Symbol('Manage');
export const FOLLOWER = Symbol('Follower');
export const LIFECYCLE = Symbol('Lifecycle');

@Module({})
class DeliveryModule {}

export function deliveryModule({ sql, ledger, store, clock, ids, log }: ServiceContext, config: Config): DynamicModule {
  const box = secretBox(loadKek(config.keyFile));
  const deliveries = deliveryTable(sql, box);
  const post = postVia({ privateHosts: config.privateHosts });
  const onFailure = (doing: string, error: unknown): void => log.error({ err: error }, `${doing} failed; it is tried again`);
  const record = recorder(sql, ledger, clock, onFailure);
  const checkpointAt = checkpoints(sql);
  const finish: CourierPorts['finish'] = (claimed) => finishMessage({ checkpointAt, wait }, claimed);
  const courier = new Courier({ table: deliveries, finish, send: sendSigned(post), clock, chance: Math.random, record, onFailure });
  const wake = (): void => courier.wake();
  const manage: ManagePorts = {
    webhooks: webhookTable(sql, box),
    deliveries,
    sql,
    clock,
    uuid: () => ids.uuid(),
    generateSecret,
    privateHosts: config.privateHosts,
    wake,
    record,
  };
  const follower: FollowerPorts = { sql, store, deliveries, clock, publicUrl: config.publicUrl, wake };
  const lifecycle: LifecyclePorts = { courier, deliveries, clock, record, closeConnections: () => post.close(), onFailure };
  return {
    module: DeliveryModule,
    providers: [
      { provide: MANAGE, useFactory: () => manage },
      { provide: FOLLOWER, useFactory: () => follower },
      { provide: LIFECYCLE, useFactory: () => lifecycle },
    ],
  };
}
