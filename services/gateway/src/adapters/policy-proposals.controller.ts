import { ListPolicyProposals, Name, type Principal } from '@fluidbox/contracts';
import { type ServiceContext, zodPipe } from '@fluidbox/service-kit';
import { Controller, Get, Inject, Query, UseGuards } from '@nestjs/common';
import { z } from 'zod';
import { AdminGuard, Caller } from './principal.guard';
import { CONTEXT } from './tokens';

const ListQuery = z.strictObject({ policy: Name.optional(), closed: z.stringbool().default(false) });

/** What waits for a second person, over all policies. */
@Controller('v1/policy-proposals')
@UseGuards(AdminGuard)
export class PolicyProposalsController {
  constructor(@Inject(CONTEXT) private readonly context: ServiceContext) {}

  @Get()
  async list(@Caller() principal: Principal, @Query(zodPipe(ListQuery)) query: z.output<typeof ListQuery>) {
    return {
      data: await this.context.bus.request(ListPolicyProposals, {
        org: principal.org,
        name: query.policy ?? null,
        closed: query.closed,
      }),
    };
  }
}
