import { appendAgainstEmmett, appendAgainstNotify, appendManyCallers, appendOne } from './append';
import { growth } from './growth/growth';
import { launch } from './launch';
import { permission } from './permission';
import type { Bench } from './support/measure';

/** By the ids of the performance goals; `launch` is the time a person waits for the first sign of life. */
export const benches: Readonly<Record<string, Bench>> = {
  A1: appendAgainstEmmett,
  A2: appendAgainstNotify,
  A3: appendManyCallers,
  A4: appendOne,
  C3: permission,
  growth,
  launch,
};
