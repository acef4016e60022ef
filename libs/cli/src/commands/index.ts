import type { Command } from 'commander';
import { registerAgents } from './agent-commands';
import { registerApprovals } from './approval-commands';
import { registerBudgets } from './budget-commands';
import { registerDemo } from './demo';
import { registerDoctor } from './doctor';
import { registerMigrate } from './migrate';
import { registerOperations } from './operation-commands';
import { registerPolicies } from './policy/register';
import { registerRecord } from './record';
import { registerReports } from './report-commands';
import { registerRuns } from './run-commands';
import { registerTokens } from './token-commands';
import { registerUp } from './up';
import { registerUpstreams } from './upstream-commands';
import { registerWebhooks } from './webhook-commands';

/** Adds one command to the program. */
export type Register = (program: Command) => void;

/** In the order in which help lists them. */
export const registrations: readonly Register[] = [
  registerUp,
  registerDemo,
  registerRuns,
  registerApprovals,
  registerTokens,
  registerBudgets,
  registerAgents,
  registerPolicies,
  registerReports,
  registerOperations,
  registerUpstreams,
  registerWebhooks,
  registerRecord,
  registerDoctor,
  registerMigrate,
];
