import {
  ListParked,
  ListReadModels,
  type ParkedView,
  type Principal,
  ReadModelName,
  type ReadModelView,
  RebuildReadModel,
  ReplayParked,
} from '@fluidbox/contracts';
import { type ServiceContext, zodPipe } from '@fluidbox/service-kit';
import { Controller, Get, HttpCode, Inject, Param, Post, UseGuards } from '@nestjs/common';
import { z } from 'zod';
import { AdminGuard, Caller } from './principal.guard';
import { CONTEXT } from './tokens';

const ModelPath = z.strictObject({ name: ReadModelName });
const ParkedPath = z.strictObject({ follower: z.string().min(1).max(200), position: z.coerce.number().int().min(1) });

/** How the followers of the log stand, for who runs the deployment. */
@Controller('v1')
@UseGuards(AdminGuard)
export class OperationsController {
  constructor(@Inject(CONTEXT) private readonly context: ServiceContext) {}

  @Get('read-models')
  async models(): Promise<{ data: readonly ReadModelView[] }> {
    return { data: await this.context.bus.request(ListReadModels, {}) };
  }

  @Post('read-models/:name/rebuild')
  @HttpCode(202)
  rebuild(@Caller() principal: Principal, @Param(zodPipe(ModelPath)) { name }: z.output<typeof ModelPath>): Promise<ReadModelView> {
    return this.context.bus.request(RebuildReadModel, { principal, name });
  }

  @Get('parked')
  async parked(): Promise<{ data: readonly ParkedView[] }> {
    return { data: await this.context.bus.request(ListParked, {}) };
  }

  @Post('parked/:follower/:position/replay')
  @HttpCode(202)
  replay(@Caller() principal: Principal, @Param(zodPipe(ParkedPath)) path: z.output<typeof ParkedPath>): Promise<ParkedView> {
    return this.context.bus.request(ReplayParked, { principal, ...path });
  }
}
