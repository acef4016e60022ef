import { type EventType, eventTypes, type ServiceName } from '@fluidbox/contracts';

const appendersOf = new Map(Object.entries(eventTypes).map(([type, { appender }]) => [type, appender.split(/, | or /)]));

/** Every event type has its appenders; nobody else may write it, whatever its database role allows. */
export const mayAppend = (service: ServiceName, type: EventType): boolean => appendersOf.get(type)?.includes(service) === true;

/** What the database lets a service write, too. */
export const typesOf = (service: ServiceName): readonly EventType[] =>
  (Object.keys(eventTypes) as EventType[]).filter((type) => mayAppend(service, type)).sort();
