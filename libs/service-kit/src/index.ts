export type * from './api';
export { systemClock, uuidV7Ids } from './clock-and-ids';
export { problemOf } from './problem-filter';
export { runMain } from './run-main';
export { sqlOf } from './sql';
export { startService } from './start-service';
export { mentions, StreamLoop } from './stream-loop';
export { subscribe, zodPipe } from './subscribe';
