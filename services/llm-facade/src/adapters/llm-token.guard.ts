import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { authorize, type Caller, tokenOf } from '../app/authorize';
import type { Ports } from '../app/ports';
import { PORTS } from './tokens';

export type Authorized = FastifyRequest & { caller?: Caller };

/** Admits the llm token of a live run, before a byte of the body is read. */
@Injectable()
export class LlmTokenGuard implements CanActivate {
  constructor(@Inject(PORTS) private readonly ports: Ports) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Authorized>();
    const header = (name: string): string | undefined => {
      const value = request.headers[name];
      return Array.isArray(value) ? value[0] : value;
    };
    request.caller = await authorize(this.ports, tokenOf({ authorization: header('authorization'), 'x-api-key': header('x-api-key') }));
    return true;
  }
}
