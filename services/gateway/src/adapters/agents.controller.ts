import { CreateAgent, CreateAgentBody, GetAgent, ListAgents, type Principal, ReviseAgent, ReviseAgentBody } from '@fluidbox/contracts';
import { type ServiceContext, zodPipe } from '@fluidbox/service-kit';
import { Body, Controller, Get, Inject, Param, Post, UseGuards } from '@nestjs/common';
import { AdminGuard, Caller, MemberGuard } from './principal.guard';
import { CONTEXT } from './tokens';

@Controller('v1/agents')
@UseGuards(MemberGuard)
export class AgentsController {
  constructor(@Inject(CONTEXT) private readonly context: ServiceContext) {}

  @Get()
  async list(@Caller() principal: Principal) {
    return { data: await this.context.bus.request(ListAgents, { org: principal.org }), next_cursor: null, has_more: false };
  }

  @Get(':name')
  get(@Caller() principal: Principal, @Param('name') name: string) {
    return this.context.bus.request(GetAgent, { org: principal.org, name });
  }

  @Post()
  @UseGuards(AdminGuard)
  create(@Caller() principal: Principal, @Body(zodPipe(CreateAgentBody)) body: CreateAgentBody) {
    return this.context.bus.request(CreateAgent, { principal, body });
  }

  @Post(':name/revisions')
  @UseGuards(AdminGuard)
  revise(@Caller() principal: Principal, @Param('name') name: string, @Body(zodPipe(ReviseAgentBody)) body: ReviseAgentBody) {
    return this.context.bus.request(ReviseAgent, { principal, name, body });
  }
}
