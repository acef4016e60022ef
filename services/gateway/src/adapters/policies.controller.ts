import {
  BacktestBody,
  BacktestPolicy,
  CheckPolicy,
  CheckPolicyBody,
  ClonePolicy,
  ClonePolicyBody,
  DecidePolicyProposal,
  DecideProposalBody,
  DeletePolicy,
  GetPolicy,
  GetPolicyProposal,
  ImportPolicy,
  ImportPolicyBody,
  ListPolicies,
  ListPolicyVersions,
  type Principal,
  type PublishedPolicy,
  RevertPolicy,
  RevertPolicyBody,
  recordedCallsTimeoutMs,
} from '@fluidbox/contracts';
import { type ServiceContext, zodPipe } from '@fluidbox/service-kit';
import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post, Put, Query, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { TokenStore } from '../app/authenticate';
import { listedId } from './listed-id';
import { AdminGuard, Caller, MemberGuard } from './principal.guard';
import { CONTEXT, TOKENS } from './tokens';

const ProposalPath = z.strictObject({ name: z.string(), id: listedId });
const VersionQuery = z.strictObject({ version: z.coerce.number().int().min(1).optional() });
/** A publication may be compared with everything that was recorded. */
const patient = { timeoutMs: recordedCallsTimeoutMs };

@Controller('v1/policies')
@UseGuards(MemberGuard)
export class PoliciesController {
  constructor(
    @Inject(CONTEXT) private readonly context: ServiceContext,
    @Inject(TOKENS) private readonly tokens: TokenStore,
  ) {}

  @Get()
  async list(@Caller() principal: Principal) {
    return { data: await this.context.bus.request(ListPolicies, { org: principal.org }), next_cursor: null, has_more: false };
  }

  /** No policy has this name: it is reserved. */
  @Post('validate')
  @HttpCode(200)
  validate(@Body(zodPipe(CheckPolicyBody)) body: CheckPolicyBody) {
    return this.context.bus.request(CheckPolicy, { body });
  }

  @Get(':name')
  get(@Caller() principal: Principal, @Param('name') name: string, @Query(zodPipe(VersionQuery)) query: z.output<typeof VersionQuery>) {
    return this.context.bus.request(GetPolicy, { org: principal.org, name, version: query.version ?? null });
  }

  @Get(':name/versions')
  async versions(@Caller() principal: Principal, @Param('name') name: string) {
    return { data: await this.context.bus.request(ListPolicyVersions, { org: principal.org, name }) };
  }

  @Put(':name')
  @UseGuards(AdminGuard)
  async import(
    @Caller() principal: Principal,
    @Param('name') name: string,
    @Body(zodPipe(ImportPolicyBody)) body: ImportPolicyBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const published = await this.context.bus.request(ImportPolicy, { ...(await this.publisher(principal)), name, body }, patient);
    return answered(published, reply);
  }

  @Post(':name/revert')
  @HttpCode(200)
  @UseGuards(AdminGuard)
  async revert(
    @Caller() principal: Principal,
    @Param('name') name: string,
    @Body(zodPipe(RevertPolicyBody)) body: RevertPolicyBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const published = await this.context.bus.request(RevertPolicy, { ...(await this.publisher(principal)), name, body }, patient);
    return answered(published, reply);
  }

  @Post(':name/clone')
  @HttpCode(200)
  @UseGuards(AdminGuard)
  async clone(
    @Caller() principal: Principal,
    @Param('name') name: string,
    @Body(zodPipe(ClonePolicyBody)) body: ClonePolicyBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const published = await this.context.bus.request(ClonePolicy, { ...(await this.publisher(principal)), name, body }, patient);
    return answered(published, reply);
  }

  /** For admins: examples show what the runs of others did. */
  @Post(':name/backtest')
  @HttpCode(200)
  @UseGuards(AdminGuard)
  backtest(@Caller() principal: Principal, @Param('name') name: string, @Body(zodPipe(BacktestBody)) body: BacktestBody) {
    return this.context.bus.request(BacktestPolicy, { org: principal.org, name, body }, patient);
  }

  @Delete(':name')
  @UseGuards(AdminGuard)
  delete(@Caller() principal: Principal, @Param('name') name: string) {
    return this.context.bus.request(DeletePolicy, { principal, name });
  }

  @Get(':name/proposals/:id')
  @UseGuards(AdminGuard)
  proposal(@Caller() principal: Principal, @Param(zodPipe(ProposalPath)) { name, id }: z.output<typeof ProposalPath>) {
    return this.context.bus.request(GetPolicyProposal, { org: principal.org, name, proposal_id: id });
  }

  @Post(':name/proposals/:id/decision')
  @HttpCode(200)
  @UseGuards(AdminGuard)
  async decide(
    @Caller() principal: Principal,
    @Param(zodPipe(ProposalPath)) { name, id }: z.output<typeof ProposalPath>,
    @Body(zodPipe(DecideProposalBody)) body: DecideProposalBody,
  ) {
    return this.context.bus.request(DecidePolicyProposal, { ...(await this.publisher(principal)), name, proposal_id: id, body });
  }

  private async publisher(principal: Principal) {
    return { principal, made_by: await this.tokens.makersOf(principal.org, principal.name) };
  }
}

/** 202: nothing governs yet, a second person has to look at it. */
function answered(published: PublishedPolicy, reply: FastifyReply): PublishedPolicy {
  if ('proposal' in published) reply.code(202);
  return published;
}
