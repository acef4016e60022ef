import { harnesses } from '@fluidbox/contracts';
import type { ServiceContext } from '@fluidbox/service-kit';
import { Controller, Get, Inject, UseGuards } from '@nestjs/common';
import { OpenGuard } from './principal.guard';
import { CONTEXT } from './tokens';

@Controller('v1')
@UseGuards(OpenGuard)
export class HealthController {
  constructor(@Inject(CONTEXT) private readonly context: ServiceContext) {}

  @Get('health')
  health() {
    return { ok: true, bus: this.context.bus.connected };
  }

  @Get('harnesses')
  list() {
    return {
      data: Object.values(harnesses).map(({ id, models, defaultModel, dialect, tools }) => ({
        id,
        models,
        default_model: defaultModel,
        dialect,
        tools,
      })),
    };
  }
}
