import { BudgetScope, GetAgent, ListBudgets, type Principal, parseOrProblem, SetBudget, SetBudgetBody } from '@fluidbox/contracts';
import { type ServiceContext, zodPipe } from '@fluidbox/service-kit';
import { Body, Controller, Get, Inject, Param, Put, UseGuards } from '@nestjs/common';
import { z } from 'zod';
import { AdminGuard, Caller } from './principal.guard';
import { CONTEXT } from './tokens';

const Scoped = z.strictObject({ scope: BudgetScope });

/** Limits of what the organisation and each agent may spend, in all and a month. */
@Controller('v1/budgets')
@UseGuards(AdminGuard)
export class BudgetsController {
  constructor(@Inject(CONTEXT) private readonly context: ServiceContext) {}

  @Get()
  async list(@Caller() principal: Principal) {
    return { data: await this.context.bus.request(ListBudgets, { org: principal.org }) };
  }

  @Put(':scope')
  async set(@Caller() principal: Principal, @Param('scope') given: string, @Body(zodPipe(SetBudgetBody)) body: SetBudgetBody) {
    const { scope } = parseOrProblem(Scoped, { scope: given });
    // A limit on a name that nobody has would bind nothing: a 404 tells of the slip.
    if (scope !== 'org') await this.context.bus.request(GetAgent, { org: principal.org, name: scope.slice('agent:'.length) });
    return this.context.bus.request(SetBudget, { principal, scope, body });
  }
}
