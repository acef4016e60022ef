import type { StackOptions } from '@fluidbox/embedded';
import { say } from './output';

/** How every command that may start a stack starts it; all services in one process unless told otherwise. */
export function stackOptions(home: string): StackOptions {
  return {
    home,
    mode: 'all-in-one',
    environment: process.env,
    say,
    // Loaded when it is needed: most commands only talk to a stack.
    migrate: async (options) => (await import('@fluidbox/event-store')).migrate(options),
  };
}
