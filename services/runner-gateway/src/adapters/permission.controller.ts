import { PermissionRequest, type ToolsCallAnswer } from '@fluidbox/contracts';
import { zodPipe } from '@fluidbox/service-kit';
import { Body, Controller, HttpCode, Inject, Post, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { askPermission, questionOf } from '../app/ask-permission';
import { callTool } from '../app/call-tool';
import type { Caller, Ports } from '../app/ports';
import { ParkedReply } from './parked-reply';
import { TheCaller, ToolGuard } from './run-token.guard';
import { PORTS } from './tokens';

@Controller('internal/sessions/:id')
@UseGuards(ToolGuard)
export class PermissionController {
  constructor(@Inject(PORTS) private readonly ports: Ports) {}

  @Post('permission')
  async permission(
    @TheCaller() caller: Caller,
    @Body(zodPipe(PermissionRequest)) body: PermissionRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    await askPermission(this.ports, questionOf(caller, body), new ParkedReply(reply, this.ports.paddingMs));
  }

  @Post('tools/call')
  @HttpCode(200)
  toolsCall(@TheCaller() caller: Caller, @Body(zodPipe(PermissionRequest)) body: PermissionRequest): Promise<ToolsCallAnswer> {
    return callTool(this.ports, caller, body);
  }
}
