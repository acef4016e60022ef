import { Problem } from '@fluidbox/contracts';
import { type ArgumentsHost, Catch, type ExceptionFilter, Inject } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Ports } from '../app/ports';
import { defaultDialect, routeOf } from '../domain/dialects';
import { ModelRequestRefused, type Refusal, refusalHeaders, refusals } from '../domain/refusal';
import { llmPathOf } from './llm-path';
import { PORTS } from './tokens';

/** Every refusal in the words of the dialect that was spoken to; the provider's SDK reads nothing else. */
@Catch()
export class DialectFilter implements ExceptionFilter {
  constructor(@Inject(PORTS) private readonly ports: Ports) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    if (!reply.sent) reply.hijack();
    const response = reply.raw;
    if (!(error instanceof ModelRequestRefused) && !response.destroyed) this.ports.log.error({ err: error }, 'a model request failed');
    if (response.headersSent || response.destroyed) {
      response.destroy();
      return;
    }
    const refusal = refusalOf(error);
    const dialect = routeOf(llmPathOf(request.url))?.dialect ?? defaultDialect;
    // A body that was not read would be taken for the next request on this connection.
    const close: Record<string, string> = request.raw.complete ? {} : { connection: 'close' };
    response
      .writeHead(refusal.status, { 'content-type': 'application/json', ...refusalHeaders(refusal), ...close })
      .end(dialect.errorBody(refusal));
  }
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof ModelRequestRefused) return error.refusal;
  if (error instanceof Problem && error.code === 'run_not_active') return refusals.notActive();
  if (error instanceof Problem && error.code === 'stale_lease') return refusals.staleLease();
  return refusals.unavailable('fluidbox cannot record this request now; try again');
}
