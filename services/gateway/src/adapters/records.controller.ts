import { Readable } from 'node:stream';
import { EraseContent, type EventView, type Principal, RunId } from '@fluidbox/contracts';
import type { ServiceContext } from '@fluidbox/service-kit';
import { Controller, Get, HttpCode, Inject, Param, Post, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { type ExportPorts, exportBundle } from '../app/export-bundle';
import { readErasure } from '../app/read-erasure';
import { readRun } from '../app/read-run';
import { AdminGuard, Caller, MemberGuard } from './principal.guard';
import { CONTEXT, EXPORT } from './tokens';

/** The record of a run for those who check it, and the end of what is not in it. */
@Controller('v1/sessions/:id')
@UseGuards(MemberGuard)
export class RecordsController {
  constructor(
    @Inject(CONTEXT) private readonly context: ServiceContext,
    @Inject(EXPORT) private readonly ports: ExportPorts,
  ) {}

  @Get('bundle')
  async bundle(@Caller() principal: Principal, @Param('id') id: string, @Res() reply: FastifyReply): Promise<void> {
    const run = await readRun(this.context.ledger, principal, id);
    const lines = await exportBundle(this.ports, principal.org, id, run.specDigest);
    await reply
      .header('content-type', 'application/jsonl; charset=utf-8')
      .header('content-disposition', `attachment; filename="run-${id}.jsonl"`)
      .header('x-content-type-options', 'nosniff')
      .send(Readable.from(lines));
  }

  @Get('erasure')
  async erasure(@Caller() principal: Principal, @Param('id') id: string): Promise<{ data: EventView[] }> {
    await readRun(this.context.ledger, principal, id);
    return { data: await readErasure(this.context.ledger, principal.org, id) };
  }

  @Post('erase')
  @HttpCode(200)
  @UseGuards(AdminGuard)
  async erase(@Caller() principal: Principal, @Param('id') id: string): Promise<{ erased_at: string; erased_by: string }> {
    const run = await readRun(this.context.ledger, principal, id);
    return this.context.bus.request(EraseContent, { run_id: RunId.parse(run.runId), org: principal.org, principal });
  }
}
