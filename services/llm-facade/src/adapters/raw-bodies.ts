import type { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';

/** Leaves every request body unread: the token is checked before the first byte, and up to 32 MiB are parsed once, by the dialect. */
export function leaveBodiesUnread(host: HttpAdapterHost): void {
  const fastify = host.httpAdapter.getInstance<FastifyInstance>();
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('*', (_request, _payload, done) => done(null));
}
