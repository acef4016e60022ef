import type { PermissionAnswer } from '@fluidbox/contracts';
import type { FastifyReply } from 'fastify';
import type { Outlet } from '../app/ports';

const jsonHeaders = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store', 'x-accel-buffering': 'no' };

/**
 * The answer to a permission call. Decided at once it is an ordinary reply. Else its headers go out when the gate has said `pending`, and then a
 * space every 15 s (leading space is legal JSON), so that nothing on the way takes the connection for dead while a person thinks.
 */
export class ParkedReply implements Outlet {
  private padding: NodeJS.Timeout | undefined;
  begun = false;

  constructor(
    private readonly reply: FastifyReply,
    private readonly paddingMs: number,
  ) {}

  /** The caller's connection ended before the answer did. */
  onGone(listener: () => void): void {
    this.reply.raw.on('close', () => {
      clearInterval(this.padding);
      if (!this.reply.raw.writableFinished) listener();
    });
  }

  begin(): void {
    this.begun = true;
    const { raw, request } = this.reply.hijack();
    // A person may take hours, and thousands wait: the token and the headers that admitted the call do not wait with it, nor what was read of its body.
    request.body = undefined;
    request.raw.headers = {};
    request.raw.rawHeaders = [];
    raw.writeHead(200, { ...headersSet(this.reply), ...jsonHeaders });
    raw.flushHeaders();
    this.padding = setInterval(() => raw.write(' '), this.paddingMs);
  }

  end(answer: PermissionAnswer): void {
    if (!this.begun) {
      void this.reply.status(200).headers(jsonHeaders).send(JSON.stringify(answer));
      return;
    }
    clearInterval(this.padding);
    this.reply.raw.end(JSON.stringify(answer));
  }

  cut(): void {
    clearInterval(this.padding);
    if (!this.begun) this.reply.hijack();
    this.reply.raw.destroy();
  }
}

/** A hijacked reply loses what Fastify would have sent: request id, trace. */
const headersSet = (reply: FastifyReply): Record<string, string> =>
  Object.fromEntries(Object.entries(reply.getHeaders()).map(([name, value]) => [name, String(value)]));
