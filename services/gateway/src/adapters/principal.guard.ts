import { type Principal, Problem, type Role, roleAtLeast } from '@fluidbox/contracts';
import { type CanActivate, createParamDecorator, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Authenticate } from '../app/authenticate';
import { AUTHENTICATE } from './tokens';

type Authenticated = FastifyRequest & { principal?: Principal };

/** Admits a named API token of at least `role`. One class per audience, so that a route says whom it admits. */
abstract class RoleGuard implements CanActivate {
  protected abstract readonly role: Role;
  constructor(private readonly authenticate: Authenticate) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Authenticated>();
    if (request.headers.cookie !== undefined && request.headers.authorization !== undefined)
      throw new Problem('invalid_request', 'cookie: send a bearer token or a cookie, not both');
    const principal = await this.authenticate(request.headers.authorization);
    if (!roleAtLeast(principal.role, this.role))
      throw new Problem('forbidden', `role: this needs ${this.role}, the token has ${principal.role}`);
    request.principal = principal;
    return true;
  }
}

@Injectable()
export class MemberGuard extends RoleGuard {
  protected readonly role = 'member';
  constructor(@Inject(AUTHENTICATE) authenticate: Authenticate) {
    super(authenticate);
  }
}

@Injectable()
export class ApproverGuard extends RoleGuard {
  protected readonly role = 'approver';
  constructor(@Inject(AUTHENTICATE) authenticate: Authenticate) {
    super(authenticate);
  }
}

@Injectable()
export class AdminGuard extends RoleGuard {
  protected readonly role = 'admin';
  constructor(@Inject(AUTHENTICATE) authenticate: Authenticate) {
    super(authenticate);
  }
}

/** Routes that need no token, by name, so that the route test can tell them from forgotten ones. */
@Injectable()
export class OpenGuard implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

export const Caller = createParamDecorator((_: unknown, context: ExecutionContext): Principal => {
  const principal = context.switchToHttp().getRequest<Authenticated>().principal;
  if (principal === undefined) throw new Problem('internal', 'route has no principal guard');
  return principal;
});
