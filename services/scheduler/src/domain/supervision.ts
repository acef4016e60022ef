import { z } from 'zod';

/** `lease.json` in the run's folder: written by the scheduler at each `lease.granted` and at the end, watched by the supervisor. */
export const LeaseFile = z.strictObject({ generation: z.number().int(), valid_until: z.string(), stop: z.boolean() });
export type LeaseFile = z.infer<typeof LeaseFile>;

/** `started.json`: the sandbox stands, with what really holds it. */
export const StartedFile = z.strictObject({
  generation: z.number().int(),
  sandbox_id: z.string(),
  init_pid: z.number().int(),
  isolation: z.strictObject({
    namespaces: z.boolean(),
    seccomp: z.boolean(),
    unprivileged_uid: z.boolean(),
    limits: z.enum(['cgroup2', 'cgroup1', 'rlimit']),
  }),
});
export type StartedFile = z.infer<typeof StartedFile>;

const exitCauses = ['exited', 'stopped', 'lease_dead', 'failed', 'lost'] as const;
export type ExitCause = (typeof exitCauses)[number];

/** `exit.json`: written once, when nothing of the sandbox lives any more. */
export const ExitFile = z.strictObject({
  generation: z.number().int(),
  sandbox_id: z.string(),
  cause: z.enum(exitCauses),
  exit_code: z.number().int().nullable(),
  signal: z.string().nullable(),
  stderr_tail: z.string(),
});
export type ExitFile = z.infer<typeof ExitFile>;

/** A scheduler that is away must not kill runs: only after this long without a new lease does the sandbox end by itself. */
export const leaseDeadMs = 10 * 60_000;

/** Why the supervisor must end its tree now, or null. Another generation in the file means that a newer sandbox was asked for. */
export function reasonToEnd(lease: LeaseFile | null, generation: number, now: number): 'stopped' | 'lease_dead' | null {
  if (lease === null) return null;
  if (lease.stop || lease.generation !== generation) return 'stopped';
  return now > Date.parse(lease.valid_until) + leaseDeadMs ? 'lease_dead' : null;
}
