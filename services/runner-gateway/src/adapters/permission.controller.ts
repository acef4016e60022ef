import { PermissionRequest, type ToolsCallAnswer } from '@fluidbox/contracts';
import { zodPipe } from '@fluidbox/service-kit';
import { Body, Controller, HttpCode, Inject, Post, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Logger } from 'pino';
import { askPermission, questionOf } from '../app/ask-permission';
import { callTool } from '../app/call-tool';
import type { Caller, Ports } from '../app/ports';
import { ParkedReply } from './parked-reply';
import { TheCaller, ToolGuard } from './run-token.guard';
import { LOG, PORTS } from './tokens';

@Controller('internal/sessions/:id')
@UseGuards(ToolGuard)
export class PermissionController {
  constructor(
    @Inject(PORTS) private readonly ports: Ports,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  @Post('permission')
  async permission(
    @TheCaller() caller: Caller,
    @Body(zodPipe(PermissionRequest)) body: PermissionRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const parked = new ParkedReply(reply, this.ports.paddingMs);
    const call = this.ports.parked.open();
    parked.onGone(() => call.leave());
    try {
      const waiting = { onPending: () => parked.begin(), call };
      const answer = await askPermission(this.ports, questionOf(caller, body), waiting);
      if (answer === null) parked.cut();
      else parked.end(answer);
    } catch (error) {
      if (!parked.begun) throw error;
      // The answer has begun, so it cannot become an error: a cut connection makes the runner ask again, with the same id.
      this.log.warn({ err: error, run_id: caller.runId, tool_call_id: body.tool_call_id }, 'a parked permission call was cut');
      parked.cut();
    } finally {
      this.ports.parked.close(call);
    }
  }

  @Post('tools/call')
  @HttpCode(200)
  toolsCall(@TheCaller() caller: Caller, @Body(zodPipe(PermissionRequest)) body: PermissionRequest): Promise<ToolsCallAnswer> {
    return callTool(this.ports, caller, body);
  }
}
