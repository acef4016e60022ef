import { Problem, type ProblemCode, problemDocument } from '@fluidbox/contracts';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { traceIdOf } from './trace';

const codeOfStatus: Readonly<Record<number, ProblemCode>> = {
  400: 'invalid_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  422: 'unprocessable',
  503: 'unavailable',
};

/** What a request ended with, as a Problem: its own, one of the framework's (by status), else a bug whose message stays inside. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const status = error instanceof HttpException ? error.getStatus() : statusOf(error);
  const code = status === undefined ? undefined : codeOfStatus[status];
  if (code !== undefined && error instanceof Error) return new Problem(code, error.message, { cause: error });
  return new Problem('internal', 'something failed here; the log has the details under this trace id', { cause: error });
}

/** Fastify's own errors (body too large, no JSON, unknown media type). */
const statusOf = (error: unknown): number | undefined =>
  error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : undefined;

/** Errors as RFC 9457 problem documents. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly log: Logger) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const problem = problemOf(error);
    if (problem.status >= 500)
      this.log.error({ err: problem.cause ?? problem, url: request.url, request_id: request.id }, 'request failed');
    if (reply.sent || reply.raw.headersSent) {
      // An answer that has begun cannot be taken back; a cut connection tells the client that it is not whole.
      reply.raw.destroy();
      return;
    }
    if (problem.code === 'overloaded' || problem.code === 'unavailable') void reply.header('retry-after', '1');
    void reply
      .status(problem.status)
      .header('content-type', 'application/problem+json')
      .send(JSON.stringify(problemDocument(problem, request.url.split('?')[0], traceIdOf(request))));
  }
}
