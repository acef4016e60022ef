import {
  CreateWebhook,
  CreateWebhookBody,
  DeliveryState,
  type DeliveryView,
  GetAgent,
  ListDeliveries,
  ListWebhooks,
  type Principal,
  Redeliver,
  RemoveWebhook,
  RotateWebhookSecret,
  TestWebhook,
  type WebhookView,
  type WebhookWithSecret,
} from '@fluidbox/contracts';
import { type ServiceContext, zodPipe } from '@fluidbox/service-kit';
import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post, Query, UseGuards } from '@nestjs/common';
import { z } from 'zod';
import { listedId } from './listed-id';
import { AdminGuard, Caller } from './principal.guard';
import { CONTEXT } from './tokens';

const WebhookPath = z.strictObject({ id: listedId });
const DeliveryPath = z.strictObject({ id: listedId, delivery: listedId });
const StateQuery = z.strictObject({ state: DeliveryState.optional() });

/** Who is told of waiting approvals and of results. A secret is answered once: where it was made. */
@Controller('v1/webhooks')
@UseGuards(AdminGuard)
export class WebhooksController {
  constructor(@Inject(CONTEXT) private readonly context: ServiceContext) {}

  @Post()
  async create(@Caller() principal: Principal, @Body(zodPipe(CreateWebhookBody)) body: CreateWebhookBody): Promise<WebhookWithSecret> {
    // A filter on a name that nobody has would match nothing: a 404 tells of the slip.
    if (body.agent !== undefined) await this.context.bus.request(GetAgent, { org: principal.org, name: body.agent });
    return this.context.bus.request(CreateWebhook, { principal, body });
  }

  @Get()
  async list(@Caller() principal: Principal): Promise<{ data: readonly WebhookView[] }> {
    return { data: await this.context.bus.request(ListWebhooks, { org: principal.org }) };
  }

  @Delete(':id')
  @HttpCode(204)
  async remove(@Caller() principal: Principal, @Param(zodPipe(WebhookPath)) { id }: z.output<typeof WebhookPath>): Promise<void> {
    await this.context.bus.request(RemoveWebhook, { principal, webhook_id: id });
  }

  @Post(':id/rotate')
  @HttpCode(200)
  rotate(@Caller() principal: Principal, @Param(zodPipe(WebhookPath)) { id }: z.output<typeof WebhookPath>): Promise<WebhookWithSecret> {
    return this.context.bus.request(RotateWebhookSecret, { principal, webhook_id: id });
  }

  @Post(':id/test')
  @HttpCode(202)
  test(@Caller() principal: Principal, @Param(zodPipe(WebhookPath)) { id }: z.output<typeof WebhookPath>): Promise<DeliveryView> {
    return this.context.bus.request(TestWebhook, { principal, webhook_id: id });
  }

  @Get(':id/deliveries')
  async deliveries(
    @Caller() principal: Principal,
    @Param(zodPipe(WebhookPath)) { id }: z.output<typeof WebhookPath>,
    @Query(zodPipe(StateQuery)) { state }: z.output<typeof StateQuery>,
  ): Promise<{ data: readonly DeliveryView[] }> {
    return { data: await this.context.bus.request(ListDeliveries, { org: principal.org, webhook_id: id, state: state ?? null }) };
  }

  @Post(':id/deliveries/:delivery/redeliver')
  @HttpCode(202)
  redeliver(@Caller() principal: Principal, @Param(zodPipe(DeliveryPath)) path: z.output<typeof DeliveryPath>): Promise<DeliveryView> {
    return this.context.bus.request(Redeliver, { principal, webhook_id: path.id, delivery_id: path.delivery });
  }
}
