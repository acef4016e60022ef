import type { ExitFile, StartedFile } from './supervision';

/** What is true on this host about the sandbox of a run. */
export type SandboxState =
  | { readonly status: 'none' }
  | { readonly status: 'starting'; readonly generation: number; readonly pid: number }
  | { readonly status: 'live'; readonly generation: number; readonly pid: number; readonly started: StartedFile }
  | { readonly status: 'ended'; readonly exit: ExitFile }
  /** Its supervisor was killed: nothing lives, and nobody wrote how it ended. */
  | { readonly status: 'lost'; readonly generation: number; readonly sandboxId: string };
