import { EvaluateEdit } from '@fluidbox/contracts';
import { type ServiceContext, StreamLoop } from '@fluidbox/service-kit';
import { type DynamicModule, Module } from '@nestjs/common';
import { runsWithTimers } from './adapters/timers';
import { attendRun } from './app/attend-run';
import type { LifecyclePorts } from './app/lifecycle';
import type { Ports } from './app/ports';

export const PORTS = Symbol('Ports');
export const LIFECYCLE = Symbol('Lifecycle');

@Module({})
class ApprovalsModule {}

export function approvalsModule(context: ServiceContext): DynamicModule {
  const ports: Ports = {
    ledger: context.ledger,
    clock: context.clock,
    evaluateEdit: (request) => context.bus.request(EvaluateEdit, request),
  };
  const loop = new StreamLoop({
    now: () => context.clock.now().getTime(),
    drive: (stream, options) => attendRun(ports, stream, options),
    onFailure: (stream, error) =>
      context.log.error({ run: stream.id, err: error }, 'the approvals of a run could not be attended; they are tried again'),
  });
  const lifecycle: LifecyclePorts = { loop, runsWithTimers: () => runsWithTimers(context.sql) };
  return {
    module: ApprovalsModule,
    providers: [
      { provide: PORTS, useFactory: () => ports },
      { provide: LIFECYCLE, useFactory: () => lifecycle },
    ],
  };
}
