import {
  ArtifactKind,
  CostDimension,
  type CostGroup,
  GateDimension,
  type GateGroup,
  type ListedArtifact,
  type Page,
  type Principal,
  type Summary,
} from '@fluidbox/contracts';
import { type ServiceContext, zodPipe } from '@fluidbox/service-kit';
import { Controller, Get, Inject, Query, UseGuards } from '@nestjs/common';
import { z } from 'zod';
import { groupsMax, periodOf, type Reports, summaryOf } from '../app/reports';
import { decodeCursor, pageOf } from '../domain/cursor';
import { ApproverGuard, Caller, MemberGuard } from './principal.guard';
import { CONTEXT, REPORTS } from './tokens';

const period = { from: z.iso.date().optional(), to: z.iso.date().optional() };
const CostsQuery = z.strictObject({ by: CostDimension.default('agent'), ...period });
const GateQuery = z.strictObject({ by: GateDimension.default('tool'), ...period });
const ArtifactsQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: z.string().max(400).optional(),
  kind: ArtifactKind.optional(),
});

@Controller('v1')
@UseGuards(MemberGuard)
export class ReportsController {
  constructor(
    @Inject(CONTEXT) private readonly context: ServiceContext,
    @Inject(REPORTS) private readonly reports: Reports,
  ) {}

  /** Of all runs of the organisation, so only for who may see all of them. */
  @Get('costs')
  @UseGuards(ApproverGuard)
  async costs(
    @Caller() { org }: Principal,
    @Query(zodPipe(CostsQuery)) { by, ...given }: z.output<typeof CostsQuery>,
  ): Promise<Summary<CostDimension, CostGroup>> {
    const between = periodOf(given, this.context.clock.now());
    return summaryOf(by, between, await this.reports.costs({ org, by, ...between, limit: groupsMax + 1 }));
  }

  @Get('stats/gate')
  @UseGuards(ApproverGuard)
  async decisions(
    @Caller() { org }: Principal,
    @Query(zodPipe(GateQuery)) { by, ...given }: z.output<typeof GateQuery>,
  ): Promise<Summary<GateDimension, GateGroup>> {
    const between = periodOf(given, this.context.clock.now());
    return summaryOf(by, between, await this.reports.decisions({ org, by, ...between, limit: groupsMax + 1 }));
  }

  @Get('artifacts')
  async artifacts(
    @Caller() principal: Principal,
    @Query(zodPipe(ArtifactsQuery)) query: z.output<typeof ArtifactsQuery>,
  ): Promise<Page<ListedArtifact>> {
    const rows = await this.reports.artifacts({
      org: principal.org,
      invokedBy: principal.role === 'member' ? principal.name : null,
      kind: query.kind ?? null,
      before: query.cursor === undefined ? null : decodeCursor(query.cursor),
      limit: query.limit + 1,
    });
    return pageOf(rows, query.limit, ({ created_at, id }) => ({ createdAt: created_at, id }));
  }
}
