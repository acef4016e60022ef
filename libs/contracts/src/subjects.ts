import type { StreamCategory } from './timeline';

/** NATS subjects. Commands: `fb.cmd.<service>.<command>`. Log: `fb.log.<category>.<org>.<id>`. Heads: `fb.witness.<org>.<id>`. */
export const commandSubject = (service: string, command: string): string => `fb.cmd.${service}.${command}`;
export const logSubject = (category: StreamCategory, org: string, id: string): string => `fb.log.${category}.${org}.${id}`;
export const witnessSubject = (org: string, id: string): string => `fb.witness.${org}.${id}`;
export const logWildcard = (category: StreamCategory | '*' = '*'): string => `fb.log.${category}.*.*`;
export const logStreamName = 'LOG';
export const witnessStreamName = 'WITNESS';
export const commandTimeoutMs = 5_000;
/** A log message carries the events up to this size, else only the range. */
export const logMessageBytesMax = 256 * 1024;
export const natsPayloadBytesMin = 8 * 1024 * 1024;

/** Body of a log message: the ledger bodies of one (stream, batch), or only their range when they are large. */
export interface LogMessage {
  readonly stream: string;
  readonly category: StreamCategory;
  readonly org: string;
  readonly id: string;
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly generation: number;
  readonly events: readonly LogEvent[] | null;
}
export interface LogEvent {
  readonly seq: number;
  readonly globalPosition: number;
  /** The canonical JSON text of the LedgerBody. */
  readonly body: string;
}
