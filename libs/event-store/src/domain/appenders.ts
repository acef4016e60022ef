import { type EventType, eventTypes, type ServiceName } from '@fluidbox/contracts';

const appendersOf = (type: EventType): readonly string[] => eventTypes[type].appender.split(/, | or /);

/** Every event type has its appenders; nobody else may write it, whatever its database role allows. */
export const mayAppend = (service: ServiceName, type: EventType): boolean => appendersOf(type).includes(service);

/** What the database lets a service write, too. */
export const typesOf = (service: ServiceName): readonly EventType[] =>
  (Object.keys(eventTypes) as EventType[]).filter((type) => mayAppend(service, type)).sort();
