import type { Command } from 'commander';
import { registerApiCommands } from './api-commands';
import { registerDemo } from './demo';
import { registerDoctor } from './doctor';
import { registerMigrate } from './migrate';
import { registerRecord } from './record';
import { registerUp } from './up';

/** Adds one command to the program. */
export type Register = (program: Command) => void;

/** In the order in which help lists them. */
export const registrations: readonly Register[] = [
  registerUp,
  registerDemo,
  registerApiCommands,
  registerRecord,
  registerDoctor,
  registerMigrate,
];
