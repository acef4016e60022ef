import { problemOf } from '@fluidbox/service-kit';
import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { ArchiveUnreadable } from '../app/open-workspace';
import type { Refusal } from '../domain/admission';
import { type PlaneError, planeErrorOf } from '../domain/plane-error';

/** Thrown by guards: status and bytes are sent as they are. */
export class Refused extends Error {
  constructor(readonly refusal: Refusal) {
    super(refusal.body);
  }
}

/** Every error of the runner plane, also those before any controller (body too large, unknown path). */
@Catch()
export class PlaneFilter implements ExceptionFilter {
  constructor(private readonly log: Logger) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<FastifyRequest>();
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    const { status, body } = answerTo(error);
    if (status >= 500) this.log.error({ err: error, url: request.url, request_id: request.id }, 'request failed');
    if (reply.sent || reply.raw.headersSent) {
      reply.raw.destroy();
      return;
    }
    if (status === 503) void reply.header('retry-after', '1');
    void reply.status(status).header('content-type', 'application/json').send(body);
  }
}

function answerTo(error: unknown): PlaneError {
  if (error instanceof Refused) return error.refusal;
  if (error instanceof ArchiveUnreadable) return { status: 502, body: '{"error":"workspace archive cannot be read"}' };
  return planeErrorOf(problemOf(error));
}
