import { All, Controller, Inject, Req, Res, UseFilters, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Ports } from '../app/ports';
import type { RequestsInFlight } from '../app/requests-in-flight';
import { serveModelRequest } from '../app/serve-model-request';
import { routeOf } from '../domain/dialects';
import { ModelRequestRefused, refusals } from '../domain/refusal';
import { DialectFilter } from './dialect.filter';
import { exchangeOf } from './exchange';
import { llmPathOf } from './llm-path';
import { type Authorized, LlmTokenGuard } from './llm-token.guard';
import { PORTS, REQUESTS } from './tokens';

@Controller('internal/llm')
@UseGuards(LlmTokenGuard)
@UseFilters(DialectFilter)
export class LlmController {
  constructor(
    @Inject(PORTS) private readonly ports: Ports,
    @Inject(REQUESTS) private readonly requests: RequestsInFlight,
  ) {}

  @All('*')
  async serve(@Req() request: Authorized, @Res() reply: FastifyReply): Promise<void> {
    const path = llmPathOf(request.url);
    const route = request.method === 'POST' ? routeOf(path) : null;
    const { caller } = request;
    if (caller === undefined) throw new ModelRequestRefused(refusals.unauthorized('unauthorized'));
    if (route === null) throw new ModelRequestRefused(refusals.noSuchPath(`${request.method} ${path}`));
    reply.hijack();
    const exchange = exchangeOf(request.raw, reply.raw);
    await this.requests.track((stopping) => serveModelRequest(this.ports, caller, route, exchange, stopping));
  }
}
