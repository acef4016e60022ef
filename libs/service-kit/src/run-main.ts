import type { ServiceReady } from '@fluidbox/contracts';
import type { Environment, ServiceDefinition } from './api';
import { ConfigError } from './config';
import { startService } from './start-service';

const stopMs = 12_000;

/**
 * The whole of a service's main.ts: starts it, says so to the parent, stops it on SIGTERM or SIGINT. Exit code 0 after an ordinary stop; 1 when the
 * start failed, something was thrown that nobody caught, or the stop took too long.
 */
export async function runMain<C>(definition: ServiceDefinition<C>, environment: Environment = process.env): Promise<void> {
  const die = (what: string, error: unknown): never => {
    process.stderr.write(`fluidbox ${definition.name} ${what}: ${messageOf(error)}\n`);
    process.exit(1);
  };
  process.on('uncaughtException', (error) => die('ended by an error that nobody caught', error));
  process.on('unhandledRejection', (error) => die('ended by a rejection that nobody handled', error));

  const service = await startService(definition, environment).catch((error: unknown) => die('cannot start', error));
  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) process.exit(1);
    stopping = true;
    setTimeout(() => die('did not stop', new Error(`still busy after ${stopMs / 1000} s`)), stopMs).unref();
    await service.stop();
    process.exit(0);
  };
  process.on('SIGTERM', () => void stop());
  process.on('SIGINT', () => void stop());
  const ready: ServiceReady = { type: 'ready', service: definition.name };
  process.send?.(ready);
}

/** A person reads the first line; the stack is for bugs, not for a wrong setting. */
const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error instanceof ConfigError || error.stack === undefined ? error.message : error.stack;
};
