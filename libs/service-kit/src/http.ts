import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { withRequestMeta } from '@fluidbox/bus';
import { Problem } from '@fluidbox/contracts';
import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { HttpSettings } from './api';
import { parseJsonBody } from './json-body';
import { nestLogger } from './logger';
import { ProblemFilter } from './problem-filter';
import { traceparentOf } from './trace';

const requestIdPattern = /^[A-Za-z0-9_.-]{1,128}$/;
/** All of a request has to be here by then; Fastify would wait for a client that drips for ever. Answers may take longer. */
const requestMs = 60_000;
/** Requests that run when the service stops have this long; then their connections are cut. */
const closeGraceMs = 2_000;

export interface Health {
  /** Why this process should get no requests now; undefined when it can serve. */
  notReady(): Promise<string | undefined>;
}

/** A Nest application on Fastify: limits, request ids, traces, problem documents, health. It does not listen yet. */
export async function createHttpApplication(
  module: DynamicModule,
  settings: HttpSettings,
  log: Logger,
  health: Health,
): Promise<NestFastifyApplication> {
  const adapter = new FastifyAdapter({
    bodyLimit: settings.bodyBytesMax,
    requestTimeout: requestMs,
    genReqId: (request: { headers: IncomingHttpHeaders }) => {
      const given = request.headers['x-request-id'];
      return typeof given === 'string' && requestIdPattern.test(given) ? given : randomUUID();
    },
  });
  adapter.useBodyParser('application/json', settings.rawBody === true, { bodyLimit: settings.bodyBytesMax }, (_request, body, done) =>
    done(null, parseJsonBody(body)),
  );
  const fastify: FastifyInstance = adapter.getInstance();
  fastify.addHook('onRequest', (request, reply, done) => {
    void reply
      .header('x-request-id', request.id)
      .header('traceparent', traceparentOf(request))
      .header('x-content-type-options', 'nosniff')
      // Content may be erased and rights may end: nobody on the way keeps an answer.
      .header('cache-control', 'no-store');
    done();
  });
  // Before anything parses it: Nest would accept forms and text too, and a body that was understood differently than it was meant is worse than a 415.
  fastify.addHook('onRequest', (request, _reply, done) => done(acceptsBodyOf(request.headers) ? undefined : notJson()));
  // After the body was read: what reads it loses the surrounding context.
  fastify.addHook('preValidation', (request, _reply, done) => withRequestMeta({ traceparent: traceparentOf(request) }, done));
  fastify.get('/healthz', async () => ({ ok: true }));
  fastify.get('/readyz', async (_request, reply) => {
    const reason = await health.notReady();
    return reason === undefined ? { ok: true } : reply.status(503).send({ ok: false, reason });
  });
  const app = await NestFactory.create<NestFastifyApplication>(module, adapter, {
    logger: nestLogger(log),
    abortOnError: false,
    ...(settings.rawBody === true ? { rawBody: true } : {}),
  });
  app.useGlobalFilters(settings.filter ?? new ProblemFilter(log));
  return app;
}

const acceptsBodyOf = (headers: IncomingHttpHeaders): boolean => {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  return !hasBody || /^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '');
};
const notJson = (): Problem => new Problem('unsupported_media_type', 'content-type: send application/json');

/** Answers the base URL. */
export async function listen(app: NestFastifyApplication, { port, address }: HttpSettings): Promise<string> {
  await app.listen({ port, host: address });
  const bound = app.getHttpServer().address();
  if (bound === null || typeof bound === 'string') throw new Error(`no port was bound at ${address}`);
  const host = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
  return `http://${host}:${bound.port}`;
}

/** Stops listening at once, lets requests that run finish for a moment, then cuts what is left (streams, parked calls). */
export async function closeHttp(app: NestFastifyApplication): Promise<void> {
  const cut = setTimeout(() => app.getHttpServer().closeAllConnections(), closeGraceMs);
  try {
    await app.close();
  } finally {
    clearTimeout(cut);
  }
}
