import {
  CancelRun,
  CreateRun,
  EraseContent,
  Heartbeat,
  LaunchRun,
  RenewLease,
  ReportEvent,
  ReportResult,
  RunKeys,
  WorkspaceKey,
} from '@fluidbox/contracts';
import { type CommandSubscription, subscribe } from '@fluidbox/service-kit';
import { cancelRun } from '../app/cancel-run';
import { createRun } from '../app/create-run';
import { eraseContent } from '../app/erase-content';
import { runKeys, workspaceKey } from '../app/hand-out-keys';
import { heartbeat } from '../app/heartbeat';
import { launchRun } from '../app/launch-run';
import type { Ports } from '../app/ports';
import { renewLease } from '../app/renew-lease';
import { reportEvent } from '../app/report-event';
import { reportResult } from '../app/report-result';

export const subscriptions = (ports: Ports): readonly CommandSubscription[] => [
  subscribe(CreateRun, (request) => createRun(ports, request)),
  subscribe(CancelRun, (request) => cancelRun(ports, request)),
  subscribe(EraseContent, (request) => eraseContent(ports, request)),
  subscribe(LaunchRun, (request) => launchRun(ports, request)),
  subscribe(RunKeys, (request) => runKeys(ports, request)),
  subscribe(WorkspaceKey, (request) => workspaceKey(ports, request)),
  subscribe(ReportEvent, (request) => reportEvent(ports, request)),
  subscribe(ReportResult, (request) => reportResult(ports, request)),
  subscribe(Heartbeat, (request) => heartbeat(ports, request)),
  subscribe(RenewLease, (request) => renewLease(ports, request)),
];
