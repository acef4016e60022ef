import { appendAgainstEmmett, appendAgainstNotify, appendManyCallers, appendOne } from './append';
import { growth } from './growth/growth';
import { launch } from './launch';
import { permission } from './permission';
import { permissionMany } from './permission-many';
import type { Bench } from './support/measure';
import { wakeUp } from './wake-up';

/** By the ids of the performance goals; `launch` is the time a person waits for the first sign of life. */
export const benches: Readonly<Record<string, Bench>> = {
  A1: appendAgainstEmmett,
  A2: appendAgainstNotify,
  A3: appendManyCallers,
  A4: appendOne,
  C3: permission,
  C4: permissionMany,
  C5: wakeUp,
  growth,
  launch,
};
