import {
  type EventsAnswer,
  EventsRequest,
  Heartbeat,
  type HeartbeatAnswer,
  leaseTtlSecsMax,
  type OrgId,
  parseOrProblem,
  RenewLease,
  RenewRequest,
  ReportEvent,
  ReportResult,
  type ResultAnswer,
  ResultRequest,
  type RunId,
} from '@fluidbox/contracts';
import { zodPipe } from '@fluidbox/service-kit';
import { Body, Controller, HttpCode, Inject, Post, UseGuards } from '@nestjs/common';
import { z } from 'zod';
import type { Caller, Ports } from '../app/ports';
import { ControlGuard, ResultGuard, TheCaller } from './run-token.guard';
import { PORTS } from './tokens';

const runOf = (caller: Caller) => ({ run_id: caller.runId as RunId, org: caller.org as OrgId, generation: caller.generation });

/** The gate alone records requests; a runner that says so too is heard and ignored. */
const ToolRequested = z.object({ body: z.object({ type: z.literal('tool.requested') }) });

@Controller('internal/sessions/:id')
@UseGuards(ControlGuard)
export class ReportController {
  constructor(@Inject(PORTS) private readonly ports: Ports) {}

  @Post('events')
  @HttpCode(200)
  async events(@TheCaller() caller: Caller, @Body() body: unknown): Promise<z.output<typeof EventsAnswer>> {
    if (ToolRequested.safeParse(body).success) return { seq: null, dropped: 'tool.requested' };
    const { body: event } = parseOrProblem(EventsRequest, body);
    return this.ports.bus.request(ReportEvent, { ...runOf(caller), event });
  }

  @Post('heartbeat')
  @HttpCode(200)
  heartbeat(@TheCaller() caller: Caller): Promise<HeartbeatAnswer> {
    return this.ports.bus.request(Heartbeat, runOf(caller));
  }
}

@Controller('internal/sessions/:id/result')
@UseGuards(ResultGuard)
export class ResultController {
  constructor(@Inject(PORTS) private readonly ports: Ports) {}

  @Post()
  @HttpCode(200)
  result(@TheCaller() caller: Caller, @Body(zodPipe(ResultRequest)) result: ResultRequest): Promise<ResultAnswer> {
    return this.ports.bus.request(ReportResult, { ...runOf(caller), result });
  }
}

@Controller('internal/token')
@UseGuards(ControlGuard)
export class TokenController {
  constructor(@Inject(PORTS) private readonly ports: Ports) {}

  @Post('renew')
  @HttpCode(200)
  renew(@TheCaller() caller: Caller, @Body(zodPipe(RenewRequest)) { ttl_secs }: z.output<typeof RenewRequest>) {
    return this.ports.bus.request(RenewLease, { ...runOf(caller), ttl_secs: Math.min(ttl_secs, leaseTtlSecsMax) });
  }
}
