import { openSync, writeSync } from 'node:fs';
import { redactContent } from '@fluidbox/redaction';
import type { LoggerService } from '@nestjs/common';
import { type Logger, pino } from 'pino';

/** JSON lines in `file`, or on stderr: stdout belongs to the command that runs the service. Every line passes redaction as a whole, so that nobody has to remember which field may hold a secret. */
export function createLogger(service: string, level = 'info', file?: string, write: (line: string) => void = writerTo(file)): Logger {
  return pino({ level, base: { service } }, { write: (line: string) => write(`${JSON.stringify(redactContent(JSON.parse(line)))}\n`) });
}

/** Appends whole lines at once, so that several services may share a file. */
function writerTo(file: string | undefined): (line: string) => void {
  if (file === undefined) return (line) => void process.stderr.write(line);
  const descriptor = openSync(file, 'a', 0o600);
  return (line) => void writeSync(descriptor, line);
}

/** What Nest says: its own chatter at debug, its complaints as they are. */
export function nestLogger(log: Logger): LoggerService {
  const text = (message: unknown): string => (message instanceof Error ? (message.stack ?? message.message) : String(message));
  return {
    log: (message: unknown) => log.debug(text(message)),
    debug: (message: unknown) => log.debug(text(message)),
    verbose: (message: unknown) => log.trace(text(message)),
    warn: (message: unknown) => log.warn(text(message)),
    error: (message: unknown, ...more: unknown[]) => log.error({ nest: more.map(text) }, text(message)),
    fatal: (message: unknown) => log.fatal(text(message)),
  };
}
