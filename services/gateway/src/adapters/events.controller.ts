import { type EventView, type Principal, Problem } from '@fluidbox/contracts';
import { isTerminal } from '@fluidbox/run-stream';
import { type ServiceContext, zodPipe } from '@fluidbox/service-kit';
import { Controller, Get, Headers, Inject, Param, Query, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { eventsPageMax, readEvents } from '../app/read-events';
import { readRun } from '../app/read-run';
import type { WatchHub } from '../app/watch-hub';
import { Caller, MemberGuard } from './principal.guard';
import { openEventStream } from './sse';
import { CONTEXT, HUB } from './tokens';

const after = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const PageQuery = z.strictObject({
  after: after.default(0),
  limit: z.coerce.number().int().min(1).max(eventsPageMax).default(eventsPageMax),
});
const StreamQuery = z.strictObject({ after: after.optional() });
@Controller('v1/sessions/:id/events')
@UseGuards(MemberGuard)
export class EventsController {
  constructor(
    @Inject(CONTEXT) private readonly context: ServiceContext,
    @Inject(HUB) private readonly hub: WatchHub,
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
    const run = await readRun(this.context.ledger, principal, id);
    const start = lastEventId === undefined ? (query.after ?? 0) : seqOf(lastEventId);
    if (start > run.version)
      throw new Problem('invalid_request', `${lastEventId === undefined ? 'after' : 'Last-Event-ID'}: the run has ${run.version} events`);
    const request = { run: { id, org: principal.org, invokedBy: run.invokedBy }, after: start, authorization };
    this.hub.admit(request);
    reply.hijack();
    // Nothing will ever come: the answer that keeps an EventSource from asking again.
    if (isTerminal(run) && start === run.version) reply.raw.writeHead(204).end();
    else openEventStream(reply.raw, (sink) => this.hub.watch(request, sink));
  }
}

/** Compared as a number; anything else would be a silent start somewhere. */
function seqOf(lastEventId: string): number {
  const seq = after.safeParse(/^\d{1,16}$/.test(lastEventId) ? lastEventId : Number.NaN);
  if (!seq.success) throw new Problem('invalid_request', 'Last-Event-ID: must be the seq of the last event you received');
  return seq.data;
}
