import {
  ApprovalId,
  type ApprovalView,
  approvalIdOf,
  DecideApproval,
  DecideApprovalBody,
  type Page,
  type Principal,
  Problem,
} from '@fluidbox/contracts';
import { type ServiceContext, zodPipe } from '@fluidbox/service-kit';
import { Body, Controller, Get, HttpCode, Inject, Param, Post, Query, UseGuards } from '@nestjs/common';
import { z } from 'zod';
import type { ReadModels } from '../app/ports';
import { readApproval } from '../app/read-approvals';
import { decodeCursor, pageOf } from '../domain/cursor';
import { Caller, MemberGuard } from './principal.guard';
import { CONTEXT, READ_MODELS } from './tokens';

const ListQuery = z.strictObject({ limit: z.coerce.number().int().min(1).max(100).default(50), cursor: z.string().max(400).optional() });

@Controller('v1/approvals')
@UseGuards(MemberGuard)
export class ApprovalsController {
  constructor(
    @Inject(CONTEXT) private readonly context: ServiceContext,
    @Inject(READ_MODELS) private readonly readModels: ReadModels,
  ) {}

  /** Pending approvals that this principal may see. The list names them; each is read from its run, so a settled one never shows as pending. */
  @Get()
  async list(@Caller() principal: Principal, @Query(zodPipe(ListQuery)) query: z.output<typeof ListQuery>): Promise<Page<ApprovalView>> {
    const rows = await this.readModels.pendingApprovals({
      org: principal.org,
      invokedBy: principal.role === 'member' ? principal.name : null,
      before: query.cursor === undefined ? null : decodeCursor(query.cursor),
      limit: query.limit + 1,
    });
    const idOf = ({ runId, toolCallId }: (typeof rows)[number]) => approvalIdOf(runId, toolCallId);
    const page = pageOf(rows, query.limit, (row) => ({ createdAt: row.requestedAt, id: idOf(row) }));
    const views = await Promise.all(page.data.map((row) => this.find(principal, idOf(row))));
    return { ...page, data: views.filter((view) => view?.status === 'pending').flatMap((view) => view ?? []) };
  }

  @Get(':id')
  async get(@Caller() principal: Principal, @Param('id') id: string): Promise<ApprovalView> {
    return (await readApproval(this.context.ledger, principal, id)).view;
  }

  @Post(':id/decision')
  @HttpCode(200)
  async decide(@Caller() principal: Principal, @Param('id') id: string, @Body(zodPipe(DecideApprovalBody)) body: DecideApprovalBody) {
    await readApproval(this.context.ledger, principal, id);
    const settled = await this.context.bus.request(DecideApproval, {
      org: principal.org,
      approval_id: ApprovalId.parse(id),
      principal,
      body,
    });
    return { ...settled, approval: (await readApproval(this.context.ledger, principal, id)).view };
  }

  private async find(principal: Principal, approvalId: string): Promise<ApprovalView | null> {
    try {
      return (await readApproval(this.context.ledger, principal, approvalId)).view;
    } catch (error) {
      if (error instanceof Problem && error.code === 'not_found') return null;
      throw error;
    }
  }
}
