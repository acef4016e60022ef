import type { Command } from 'commander';
import { registerApiCommands } from './api-commands';
import { registerDemo } from './demo';
import { registerDoctor } from './doctor';
import { registerMigrate } from './migrate';
import { registerRecord } from './record';
import { registerUp } from './up';
import { registerUpstreams } from './upstream-commands';
import { registerWebhooks } from './webhook-commands';

/** Adds one command to the program. */
export type Register = (program: Command) => void;

/** In the order in which help lists them. */
export const registrations: readonly Register[] = [
  registerUp,
  registerDemo,
  registerApiCommands,
  registerUpstreams,
  registerWebhooks,
  registerRecord,
  registerDoctor,
  registerMigrate,
];
