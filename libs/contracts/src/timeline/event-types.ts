import type { z } from 'zod';
import { agentEvents } from './agent';
import { budgetEvents } from './budget';
import { modelCallEvents } from './model-call';
import { policyEvents } from './policy';
import { runEvents } from './run';
import { sandboxEvents } from './sandbox';
import { toolCallEvents } from './tool-call';
import { webhookEvents } from './webhook';

/** Every event that may stand in a timeline, one row per type. */
export const eventTypes = {
  ...runEvents,
  ...sandboxEvents,
  ...toolCallEvents,
  ...budgetEvents,
  ...modelCallEvents,
  ...agentEvents,
  ...policyEvents,
  ...webhookEvents,
} as const;

export type EventType = keyof typeof eventTypes;
export type EventData<T extends EventType> = z.infer<(typeof eventTypes)[T]['data']>;
export type EventContent<T extends EventType> = (typeof eventTypes)[T] extends { content: infer C extends z.ZodType } ? z.infer<C> : never;
export const isEventType = (type: string): type is EventType => Object.hasOwn(eventTypes, type);
