import { type EventView, type Principal, Problem } from '@fluidbox/contracts';
import { type ServiceContext, zodPipe } from '@fluidbox/service-kit';
import { Controller, Get, Headers, Inject, Param, Query, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Authenticate } from '../app/authenticate';
import { eventsPageMax, readEvents } from '../app/read-events';
import { readRun } from '../app/read-run';
import { stillSees } from '../app/still-sees';
import { watchRun } from '../app/watch-run';
import { Caller, MemberGuard } from './principal.guard';
import { openEventStream } from './sse';
import { AUTHENTICATE, CONTEXT } from './tokens';

const after = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const PageQuery = z.strictObject({
  after: after.default(0),
  limit: z.coerce.number().int().min(1).max(eventsPageMax).default(eventsPageMax),
});
const StreamQuery = z.strictObject({ after: after.optional() });
/** How often a watcher looks by itself, in case a wake-up was lost; and whether its token is still good. */
const pollMs = 5_000;

@Controller('v1/sessions/:id/events')
@UseGuards(MemberGuard)
export class EventsController {
  constructor(
    @Inject(CONTEXT) private readonly context: ServiceContext,
    @Inject(AUTHENTICATE) private readonly authenticate: Authenticate,
  ) {}

  @Get()
  async list(
    @Caller() principal: Principal,
    @Param('id') id: string,
    @Query(zodPipe(PageQuery)) query: z.output<typeof PageQuery>,
  ): Promise<{ data: EventView[]; has_more: boolean }> {
    const run = await readRun(this.context.ledger, principal, id);
    const data = await readEvents(this.context.ledger, principal.org, id, query);
    return { data, has_more: (data.at(-1)?.seq ?? query.after) < run.version };
  }

  @Get('stream')
  async stream(
    @Caller() principal: Principal,
    @Param('id') id: string,
    @Query(zodPipe(StreamQuery)) query: z.output<typeof StreamQuery>,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Headers('authorization') authorization: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { invokedBy } = await readRun(this.context.ledger, principal, id);
    const start =
      lastEventId === undefined
        ? { success: true as const, data: query.after ?? 0 }
        : after.safeParse(/^\d{1,16}$/.test(lastEventId) ? lastEventId : Number.NaN);
    if (!start.success) throw new Problem('invalid_request', 'Last-Event-ID: must be the seq of the last event you received');
    const watcher = openEventStream(reply);
    const { ledger, bus, clock } = this.context;
    const run = { invokedBy, org: principal.org };
    const mayGoOn = stillSees({ authenticate: this.authenticate, now: () => clock.now() }, { authorization, run }, pollMs);
    try {
      await watchRun({ ledger, bus, pollMs, mayGoOn }, principal.org, id, start.data, watcher);
    } catch (error) {
      // The answer has begun: the only honest end is a cut connection, after which the client resumes by its last id.
      this.context.log.warn({ err: error, run_id: id }, 'event stream cut');
      watcher.cut();
      return;
    }
    watcher.end();
  }
}
