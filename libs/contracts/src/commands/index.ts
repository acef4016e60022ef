import type { z } from 'zod';
import * as approvals from './approvals';
import * as delivery from './delivery';
import * as gate from './gate';
import * as llmFacade from './llm-facade';
import * as projector from './projector';
import * as runSpecs from './run-specs';
import * as runs from './runs';

export * from './approvals';
export * from './delivery';
export * from './gate';
export * from './llm-facade';
export * from './projector';
export * from './run-specs';
export * from './runs';

/**
 * Every request one service may send another: subject `fb.cmd.<service>.<name>`, request and reply schema. A reply is either
 * `{ok: true, value}` or `{ok: false, problem}`; the bus turns the second into a thrown Problem. Who calls whom stands in call-map.json,
 * from which the NATS permissions are made; an architecture test keeps the two equal to the code. One file for each service that answers: it exports
 * its commands and nothing else.
 */
export const commands = { ...approvals, ...delivery, ...gate, ...llmFacade, ...projector, ...runSpecs, ...runs } as const;
export type Command = (typeof commands)[keyof typeof commands];
export type RequestOf<C extends Command> = z.input<C['request']>;
export type ParsedRequestOf<C extends Command> = z.output<C['request']>;
export type ReplyOf<C extends Command> = z.output<C['reply']>;

/** How long a command that reads recorded calls may take; the service itself stops reading earlier. */
export const recordedCallsTimeoutMs = 30_000;
