export type * from './api';
export { currentRequestMeta, withRequestMeta } from './call-context';
export { MemoryHub } from './memory-bus';
export { type BusOptions, connectBus } from './nats-bus';
