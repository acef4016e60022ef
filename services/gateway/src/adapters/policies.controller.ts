import { GetPolicy, ImportPolicy, ImportPolicyBody, ListPolicies, type Principal } from '@fluidbox/contracts';
import { type ServiceContext, zodPipe } from '@fluidbox/service-kit';
import { Body, Controller, Get, Inject, Param, Put, Query, UseGuards } from '@nestjs/common';
import { z } from 'zod';
import { AdminGuard, Caller, MemberGuard } from './principal.guard';
import { CONTEXT } from './tokens';

const VersionQuery = z.strictObject({ version: z.coerce.number().int().min(1).optional() });

@Controller('v1/policies')
@UseGuards(MemberGuard)
export class PoliciesController {
  constructor(@Inject(CONTEXT) private readonly context: ServiceContext) {}

  @Get()
  async list(@Caller() principal: Principal) {
    return { data: await this.context.bus.request(ListPolicies, { org: principal.org }), next_cursor: null, has_more: false };
  }

  @Get(':name')
  get(@Caller() principal: Principal, @Param('name') name: string, @Query(zodPipe(VersionQuery)) query: z.output<typeof VersionQuery>) {
    return this.context.bus.request(GetPolicy, { org: principal.org, name, version: query.version ?? null });
  }

  @Put(':name')
  @UseGuards(AdminGuard)
  import(@Caller() principal: Principal, @Param('name') name: string, @Body(zodPipe(ImportPolicyBody)) body: ImportPolicyBody) {
    return this.context.bus.request(ImportPolicy, { principal, name, body });
  }
}
