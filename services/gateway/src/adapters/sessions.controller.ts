import {
  CancelRun,
  type CostView,
  CreateRun,
  CreateSessionBody,
  type Page,
  type Principal,
  Problem,
  RunId,
  runStatuses,
  type SessionView,
} from '@fluidbox/contracts';
import { reserved, sessionView, toolCallsUsed } from '@fluidbox/run-stream';
import { type ServiceContext, zodPipe } from '@fluidbox/service-kit';
import { Body, Controller, Get, Headers, HttpCode, Inject, Param, Post, Query, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { ReadModels } from '../app/ports';
import { approvalsOfRun } from '../app/read-approvals';
import { readRun, readSession } from '../app/read-run';
import { mayCancelRun } from '../domain/authority';
import { decodeCursor, pageOf } from '../domain/cursor';
import { Caller, MemberGuard } from './principal.guard';
import { CONTEXT, READ_MODELS } from './tokens';

const ListQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: z.string().max(400).optional(),
  status: z.enum([...runStatuses, 'awaiting_approval']).optional(),
});
const GetQuery = z.strictObject({ at: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER).optional() });
const IdempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,200}$/, 'must be 1-200 visible ASCII characters')
  .optional();

@Controller('v1/sessions')
@UseGuards(MemberGuard)
export class SessionsController {
  constructor(
    @Inject(CONTEXT) private readonly context: ServiceContext,
    @Inject(READ_MODELS) private readonly readModels: ReadModels,
  ) {}

  @Post()
  async create(
    @Caller() principal: Principal,
    @Body(zodPipe(CreateSessionBody)) body: CreateSessionBody,
    @Headers('idempotency-key') key: string | undefined,
    @Headers('x-fluidbox-client') client: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<{ session: SessionView; replayed: boolean }> {
    const parsed = IdempotencyKey.safeParse(key);
    if (!parsed.success) throw new Problem('unprocessable', `Idempotency-Key: ${parsed.error.issues[0]?.message ?? 'invalid'}`);
    const { run_id, replayed } = await this.context.bus.request(CreateRun, {
      principal,
      idempotency_key: key ?? null,
      body,
      invocation: client === 'cli' ? 'cli' : 'api',
    });
    void reply.status(replayed ? 200 : 201).header('location', `/v1/sessions/${run_id}`);
    if (replayed) void reply.header('idempotent-replayed', 'true');
    return { session: await readSession(this.context.ledger, principal, run_id), replayed };
  }

  @Get()
  async list(@Caller() principal: Principal, @Query(zodPipe(ListQuery)) query: z.output<typeof ListQuery>): Promise<Page<SessionView>> {
    const rows = await this.readModels.sessions({
      org: principal.org,
      invokedBy: principal.role === 'member' ? principal.name : null,
      status: query.status ?? null,
      before: query.cursor === undefined ? null : decodeCursor(query.cursor),
      limit: query.limit + 1,
    });
    return pageOf(rows, query.limit, ({ created_at, id }) => ({ createdAt: created_at, id }));
  }

  @Get(':id')
  async get(
    @Caller() principal: Principal,
    @Param('id') id: string,
    @Query(zodPipe(GetQuery)) { at }: z.output<typeof GetQuery>,
  ): Promise<{ session: SessionView }> {
    return { session: await readSession(this.context.ledger, principal, id, at) };
  }

  @Post(':id/cancel')
  @HttpCode(200)
  async cancel(@Caller() principal: Principal, @Param('id') id: string): Promise<{ cancelled: boolean }> {
    const run = await readRun(this.context.ledger, principal, id);
    if (!mayCancelRun(principal, run)) throw new Problem('forbidden', 'role: a run is cancelled by who started it or by an admin');
    return this.context.bus.request(CancelRun, { run_id: RunId.parse(run.runId), org: principal.org, principal });
  }

  @Get(':id/approvals')
  async approvals(@Caller() principal: Principal, @Param('id') id: string) {
    const run = await readRun(this.context.ledger, principal, id);
    return { data: await approvalsOfRun(this.context.ledger, principal.org, run), next_cursor: null, has_more: false };
  }

  @Get(':id/spec')
  async spec(@Caller() principal: Principal, @Param('id') id: string): Promise<unknown> {
    const run = await readRun(this.context.ledger, principal, id);
    const bytes = await this.context.store.document(run.specDigest);
    if (bytes === null) throw new Problem('internal', 'the frozen spec of this run is not stored');
    return JSON.parse(bytes.toString('utf8'));
  }

  @Get(':id/cost')
  async cost(@Caller() principal: Principal, @Param('id') id: string): Promise<CostView> {
    const run = await readRun(this.context.ledger, principal, id);
    const { usage, budgets } = sessionView(run, { task: null, summary: null, agentRevision: 0 });
    return { usage, tool_calls: toolCallsUsed(run), reserved_micro_usd: reserved(run).costMicroUsd, budgets };
  }
}
