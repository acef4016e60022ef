import { type LogMessage, logMessageBytesMax, StreamCategory } from '@fluidbox/contracts';
import { z } from 'zod';
import { parseJson } from './envelope';

const position = z.number().int().nonnegative();
const LogMessageBody = z.object({
  stream: z.string(),
  category: StreamCategory,
  org: z.string(),
  id: z.string(),
  firstSeq: position,
  lastSeq: position,
  generation: position,
  events: z.array(z.object({ seq: position, globalPosition: position, body: z.string() })).nullable(),
});

/** The events up to 256 KiB, else only their range: the receiver then reads it from Postgres. */
export function encodeLogMessage(message: LogMessage): string {
  const text = JSON.stringify(message);
  return Buffer.byteLength(text) <= logMessageBytesMax ? text : JSON.stringify({ ...message, events: null });
}

/** Undefined for what is no log message: the log is a wake-up, so a bad one is only worth a warning. */
export function decodeLogMessage(text: string): LogMessage | undefined {
  const parsed = LogMessageBody.safeParse(parseJson(text));
  return parsed.success ? parsed.data : undefined;
}
