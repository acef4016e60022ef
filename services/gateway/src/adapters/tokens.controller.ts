import { CreateTokenBody, type Principal, Problem, type TokenView } from '@fluidbox/contracts';
import { generateApiToken } from '@fluidbox/seal';
import { type ServiceContext, zodPipe } from '@fluidbox/service-kit';
import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post, UseGuards } from '@nestjs/common';
import type { z } from 'zod';
import type { TokenStore } from '../app/authenticate';
import { createToken } from '../app/manage-tokens';
import { bootstrapName } from '../domain/authority';
import { AdminGuard, Caller } from './principal.guard';
import { CONTEXT, TOKENS } from './tokens';

@Controller('v1/tokens')
@UseGuards(AdminGuard)
export class TokensController {
  constructor(
    @Inject(CONTEXT) private readonly context: ServiceContext,
    @Inject(TOKENS) private readonly tokens: TokenStore,
  ) {}

  @Post()
  create(@Caller() principal: Principal, @Body(zodPipe(CreateTokenBody)) body: z.output<typeof CreateTokenBody>) {
    return createToken({ tokens: this.tokens, newToken: generateApiToken, now: () => this.context.clock.now() }, principal, body);
  }

  @Get()
  async list(@Caller() principal: Principal): Promise<{ data: TokenView[] }> {
    const tokens = await this.tokens.list(principal.org);
    return {
      data: tokens.map((token) => ({
        name: token.name,
        role: token.role,
        created_at: token.createdAt.toISOString(),
        expires_at: token.expiresAt.toISOString(),
        last_used_at: token.lastUsedAt?.toISOString() ?? null,
        made_by: token.madeBy === null ? null : (token.madeBy.at(-1) ?? bootstrapName),
      })),
    };
  }

  @Delete(':name')
  @HttpCode(204)
  async revoke(@Caller() principal: Principal, @Param('name') name: string): Promise<void> {
    if (!(await this.tokens.revoke(principal.org, name, this.context.clock.now())))
      throw new Problem('not_found', `there is no live token ${name}`);
  }
}
