import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { approvalIdOf, DecideApproval, RunId } from '@fluidbox/contracts';
import { freePort } from '@fluidbox/embedded';
import { generateSigningKeyFiles, signRunToken } from '@fluidbox/seal';
import { startRun } from '../../../services/gate/src/app/running-run.fixture';
import { openParkedCall, type ParkedCall } from './parked-call';
import type { Servers } from './servers';
import { type ServiceProcess, startServiceProcess } from './service-process';

export const approvalServices = ['gate', 'approvals', 'runner-gateway'] as const;
type ApprovalService = (typeof approvalServices)[number];

export interface CallingRun {
  readonly id: RunId;
  /** A permission call of its runner. */
  open(toolCallId: string): ParkedCall;
}

/** Gate, approvals and runner-gateway as processes of their own; this process is the runners, the public gateway and the owner of the runs. */
export interface ApprovalProcesses {
  readonly processes: Readonly<Record<ApprovalService, ServiceProcess>>;
  /** A running run whose policy asks for `git push`; answers how its calls are opened. */
  newRun(more?: { readonly policy?: string }): Promise<CallingRun>;
  /** As the public gateway passes it on; resolves with the answer, after the commit. */
  approve(runId: RunId, toolCallId: string): Promise<void>;
  /** Calls `heard` when the log of the runs speaks of a decision on the approval: it was committed before. */
  onDecided(heard: (toolCallId: string) => void): Promise<void>;
  restart(name: ApprovalService, signal: NodeJS.Signals): Promise<void>;
  stop(): Promise<void>;
}

export async function startApprovalProcesses(servers: Servers): Promise<ApprovalProcesses> {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-approvals-'));
  const key = generateSigningKeyFiles(path.join(dir, 'key.pem'), path.join(dir, 'keys.json'));
  const port = await freePort();
  const environment = {
    ...servers.environment,
    FLUIDBOX_CONTROL_PORT: String(port),
    FLUIDBOX_TOKEN_PUBLIC_KEYS_FILE: path.join(dir, 'keys.json'),
    FLUIDBOX_BLOBS_DIR: path.join(dir, 'blobs'),
  };
  const started: Partial<Record<ApprovalService, ServiceProcess>> = {};
  const stop = async (): Promise<void> => {
    await Promise.all(Object.values(started).map((each) => each.end()));
    fs.rmSync(dir, { recursive: true, force: true });
  };
  try {
    for (const name of approvalServices) started[name] = await startServiceProcess(name, environment);
  } catch (error) {
    await stop();
    throw error;
  }
  const processes = started as Record<ApprovalService, ServiceProcess>;
  const runs = await servers.context('runs');
  const gateway = await servers.context('gateway');
  return {
    processes,
    stop,
    newRun: async (more = {}) => {
      const id = RunId.parse(randomUUID());
      await startRun(runs.ledger, { runId: id, now: Date.now(), maxToolCalls: 1_000_000, ...more });
      const expiresAt = new Date(Date.now() + 3_600_000);
      const token = await signRunToken(key, { audience: 'tool', runId: id, org: 'default', generation: 1, jti: randomUUID(), expiresAt });
      return { id, open: (toolCallId) => openParkedCall({ port, token, runId: id, toolCallId }) };
    },
    approve: async (runId, toolCallId) => {
      const answer = await gateway.bus.request(DecideApproval, {
        org: 'default',
        approval_id: approvalIdOf(runId, toolCallId),
        principal: { name: 'grace', role: 'approver', org: 'default' },
        body: { decision: 'approve' },
      });
      if (answer.decision !== 'approved') throw new Error(`${toolCallId} was ${answer.decision}`);
    },
    onDecided: async (heard) => {
      gateway.bus.followLog(['run'], (message) => {
        for (const { body } of message.events ?? []) {
          if (!body.includes('"type":"approval.decided"')) continue;
          heard((JSON.parse(body) as { data: { tool_call_id: string } }).data.tool_call_id);
        }
      });
      await gateway.bus.flush();
    },
    restart: async (name, signal) => {
      await processes[name].end(signal);
      processes[name] = await startServiceProcess(name, environment);
    },
  };
}
