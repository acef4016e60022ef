import { createHash } from 'node:crypto';
import { runStream } from '@fluidbox/contracts';
import { type ServiceContext, startService } from '@fluidbox/service-kit';
import { Module } from '@nestjs/common';
import { z } from 'zod';
import { decision } from '../append-sides';
import type { Order, Report } from './appending-process';

@Module({})
class EmptyModule {}

const tell = (report: Report): Promise<void> =>
  new Promise((resolve, reject) => {
    process.send?.(report, (error: Error | null) => (error === null ? resolve() : reject(error)));
  });

/** The same id for the same event, whoever tries: what was stored and not acknowledged is not stored again. */
function eventIdOf(run: string, event: number): string {
  const hex = createHash('sha256').update(`${run}:${event}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

async function load({ ledger }: ServiceContext, { runs, ms }: Extract<Order, { do: 'load' }>): Promise<void> {
  const events: Record<string, number> = {};
  const times: number[] = [];
  const started = performance.now();
  await Promise.all(
    runs.map(async (id) => {
      let stored = 0;
      for (let at = performance.now(); at < started + ms; stored += 1) {
        await ledger.record(runStream(id, 'default'), [decision(stored)]);
        const now = performance.now();
        times.push(now - at);
        at = now;
      }
      events[id] = stored;
    }),
  );
  await tell({ is: 'loaded', events, ms: performance.now() - started, times });
}

async function fill({ ledger }: ServiceContext, { runs, events }: Extract<Order, { do: 'fill' }>): Promise<void> {
  await Promise.all(
    runs.map(async ({ id, from }) => {
      for (let event = from + 1; event <= events; event += 1) {
        await ledger.record(runStream(id, 'default'), [{ ...decision(event), eventId: eventIdOf(id, event) }]);
        void tell({ is: 'acknowledged', run: id, events: event });
      }
    }),
  );
  await tell({ is: 'filled' });
}

async function dieAnswered({ ledger }: ServiceContext, { run }: Extract<Order, { do: 'die answered' }>): Promise<void> {
  await ledger.record(runStream(run, 'default'), [{ ...decision(1), eventId: eventIdOf(run, 1) }]);
  process.kill(process.pid, 'SIGKILL');
}

function obey(context: ServiceContext, order: Order): Promise<void> {
  switch (order.do) {
    case 'load':
      return load(context, order);
    case 'fill':
      return fill(context, order);
    case 'die answered':
      return dieAnswered(context, order);
  }
}

async function main(): Promise<void> {
  let context: ServiceContext | undefined;
  const module = (made: ServiceContext) => {
    context = made;
    return { module: EmptyModule };
  };
  await startService({ name: 'gate', config: z.object({}), module }, process.env);
  const ready = context;
  if (ready === undefined) throw new Error('the kit did not start');
  process.on('message', (message) => {
    void obey(ready, message as Order).catch((error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
      process.exit(1);
    });
  });
  // Nobody to work for.
  process.on('disconnect', () => process.exit(0));
  await tell({ is: 'ready' });
}

void main();
