import { Readable } from 'node:stream';
import { Controller, Get, Inject, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ArchiveUnreadable, openWorkspace } from '../app/open-workspace';
import type { Caller, Ports } from '../app/ports';
import { TheCaller, WorkspaceGuard } from './run-token.guard';
import { PORTS } from './tokens';

@Controller('internal/sessions/:id/workspace')
@UseGuards(WorkspaceGuard)
export class WorkspaceController {
  constructor(@Inject(PORTS) private readonly ports: Ports) {}

  @Get()
  async workspace(@TheCaller() caller: Caller, @Res() reply: FastifyReply): Promise<void> {
    const { bytes, content } = await openWorkspace(this.ports, caller);
    const body = await fromFirstChunk(content);
    void reply.headers({ 'content-type': 'application/gzip', 'content-length': String(bytes), 'cache-control': 'no-store' });
    await reply.send(Readable.from(body, { objectMode: false }));
  }
}

/** A wrong key or a broken file shows at the first chunk, while an honest status can still be sent; later the connection is cut. */
async function fromFirstChunk(content: AsyncIterable<Buffer>): Promise<AsyncIterable<Buffer>> {
  const chunks = content[Symbol.asyncIterator]();
  const first = await chunks.next().catch((cause: unknown) => {
    throw new ArchiveUnreadable('the archive of this workspace does not open', { cause });
  });
  return (async function* () {
    if (first.done === true) return;
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => chunks };
  })();
}
