import { type Audience, Problem } from '@fluidbox/contracts';
import { type CanActivate, createParamDecorator, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { admit } from '../app/admit';
import type { Caller, Ports } from '../app/ports';
import { Refused } from './plane.filter';
import { PORTS } from './tokens';

type Admitted = FastifyRequest<{ Params: { id?: string } }> & { caller?: Caller };

/** One class per audience, so that a route says whom it admits. */
abstract class RunTokenGuard implements CanActivate {
  protected abstract readonly audience: Audience;
  protected readonly deadLeaseAllowed: boolean = false;
  constructor(private readonly ports: Ports) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Admitted>();
    const { authorization, cookie } = request.headers;
    if (cookie !== undefined && authorization !== undefined)
      throw new Problem('invalid_request', 'cookie: send a bearer token or a cookie, not both');
    const { audience, deadLeaseAllowed } = this;
    const admission = await admit(this.ports, { authorization, audience, pathRunId: request.params.id, deadLeaseAllowed });
    if ('refusal' in admission) throw new Refused(admission.refusal);
    request.caller = admission.caller;
    return true;
  }
}

@Injectable()
export class ToolGuard extends RunTokenGuard {
  protected readonly audience = 'tool';
  constructor(@Inject(PORTS) ports: Ports) {
    super(ports);
  }
}

@Injectable()
export class ControlGuard extends RunTokenGuard {
  protected readonly audience: Audience = 'control';
  constructor(@Inject(PORTS) ports: Ports) {
    super(ports);
  }
}

/** A result counts also when it comes after the lease ran out; of another generation it never does. */
@Injectable()
export class ResultGuard extends ControlGuard {
  protected override readonly deadLeaseAllowed = true;
  constructor(@Inject(PORTS) ports: Ports) {
    super(ports);
  }
}

@Injectable()
export class WorkspaceGuard extends RunTokenGuard {
  protected readonly audience = 'workspace';
  constructor(@Inject(PORTS) ports: Ports) {
    super(ports);
  }
}

export const TheCaller = createParamDecorator((_: unknown, context: ExecutionContext): Caller => {
  const { caller } = context.switchToHttp().getRequest<Admitted>();
  if (caller === undefined) throw new Problem('internal', 'route has no run token guard');
  return caller;
});
