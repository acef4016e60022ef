import { appendAgainstEmmett, appendAgainstNotify, appendManyCallers, appendOne } from './append';
import { appendChain } from './append-chain';
import { appendIntegrity } from './append-integrity';
import { appendProcesses } from './append-processes';
import { firstByte, flatOutStreams, manyCallers, oneCaller, pacedStreams } from './facade/benches';
import { fanOutCpu, fanOutMemory, fanOutRate, fanOutReads } from './fan-out/benches';
import { growth } from './growth/growth';
import { launch } from './launch';
import { permission } from './permission';
import { permissionMany } from './permission-many';
import { policyFromJson, policyGrowth, policyPeers } from './policy/benches';
import { rebuildRate } from './rebuild/bench';
import type { Bench } from './support/measure';
import { wakeUp } from './wake-up';
import { deadReceiver, firstAttempt } from './webhooks/benches';

/** By the ids of the performance goals; `launch` is the time a person waits for the first sign of life. */
export const benches: Readonly<Record<string, Bench>> = {
  A1: appendAgainstEmmett,
  A2: appendAgainstNotify,
  A3: appendManyCallers,
  A4: appendOne,
  A5: appendChain,
  A6: appendIntegrity,
  A7: appendProcesses,
  B1: fanOutReads,
  B2: fanOutCpu,
  B3: fanOutRate,
  B4: fanOutMemory,
  C1: policyPeers,
  C1b: policyFromJson,
  C2: policyGrowth,
  C3: permission,
  C4: permissionMany,
  C5: wakeUp,
  D1: oneCaller,
  D2: manyCallers,
  D3: firstByte,
  D4: pacedStreams,
  D5: flatOutStreams,
  H1: firstAttempt,
  H2: deadReceiver,
  R1: rebuildRate,
  growth,
  launch,
};
