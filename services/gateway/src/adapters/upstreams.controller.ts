import {
  ListUpstreams,
  type Principal,
  RemoveUpstream,
  SetUpstream,
  SetUpstreamBody,
  UpstreamDialect,
  UpstreamName,
  type UpstreamView,
} from '@fluidbox/contracts';
import { type ServiceContext, zodPipe } from '@fluidbox/service-kit';
import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Put, UseGuards } from '@nestjs/common';
import { z } from 'zod';
import { AdminGuard, Caller } from './principal.guard';
import { CONTEXT } from './tokens';

const DialectPath = z.strictObject({ dialect: UpstreamDialect });
const UpstreamPath = z.strictObject({ dialect: UpstreamDialect, name: UpstreamName });

/** The organisation's own model upstreams, in the order in which they are asked. A key goes in and never comes out. */
@Controller('v1/upstreams')
@UseGuards(AdminGuard)
export class UpstreamsController {
  constructor(@Inject(CONTEXT) private readonly context: ServiceContext) {}

  @Get(':dialect')
  async list(
    @Caller() principal: Principal,
    @Param(zodPipe(DialectPath)) { dialect }: z.output<typeof DialectPath>,
  ): Promise<{ data: readonly UpstreamView[] }> {
    return { data: await this.context.bus.request(ListUpstreams, { org: principal.org, dialect }) };
  }

  @Put(':dialect/:name')
  async set(
    @Caller() principal: Principal,
    @Param(zodPipe(UpstreamPath)) { dialect, name }: z.output<typeof UpstreamPath>,
    @Body(zodPipe(SetUpstreamBody)) body: SetUpstreamBody,
  ): Promise<{ data: readonly UpstreamView[] }> {
    return { data: await this.context.bus.request(SetUpstream, { principal, dialect, name, body }) };
  }

  @Delete(':dialect/:name')
  @HttpCode(204)
  async remove(
    @Caller() principal: Principal,
    @Param(zodPipe(UpstreamPath)) { dialect, name }: z.output<typeof UpstreamPath>,
  ): Promise<void> {
    await this.context.bus.request(RemoveUpstream, { principal, dialect, name });
  }
}
