import { z } from 'zod';

/** Limits of one sandbox, counted over all its processes. */
export const SandboxLimits = z.strictObject({
  memoryBytes: z.number().int().positive(),
  pids: z.number().int().positive(),
  cpus: z.number().positive(),
});
export type SandboxLimits = z.infer<typeof SandboxLimits>;

const Bind = z.strictObject({ src: z.string(), dest: z.string() });

/** Everything a supervisor needs to start one sandbox. Holds no secret: those stand beside it, on its standard input. */
export const SandboxPlan = z.strictObject({
  deploymentId: z.string(),
  runId: z.uuid(),
  generation: z.number().int().min(1),
  sandboxId: z.string(),
  /** The run's folder on the host; door, lease, started and exit files stand in it. */
  runDir: z.string(),
  upFile: z.string(),
  /** The unprivileged host uid (and gid) underneath; null = an ordinary user started us, and that user's own is used. */
  uid: z.number().int().positive().nullable(),
  bubblewrap: z.string(),
  /** The execute-only copy of node. */
  node: z.string(),
  bundleDir: z.string(),
  binds: z.array(Bind),
  workspaceDir: z.string(),
  readOnlyWorkspace: z.boolean(),
  environment: z.record(z.string(), z.string()),
  limits: SandboxLimits,
});
export type SandboxPlan = z.infer<typeof SandboxPlan>;

/** The inside paths of an outer sandbox; the other side of the agreement is libs/sandbox-kit/README.md. */
export const inside = {
  runner: '/opt/runner',
  node: '/opt/node',
  tools: '/opt/tools',
  bubblewrap: '/opt/bwrap',
  door: '/run/gw',
  workspace: '/workspace',
  home: '/home/agent',
} as const;

export interface RunFacts {
  readonly runId: string;
  readonly model: string;
  readonly autonomy: string;
  readonly trustTier: string;
  readonly harnessEnvironment: Readonly<Record<string, string>>;
  /** Node lives outside /usr and is bound at /opt/tools. */
  readonly tools: boolean;
}

/**
 * The whole environment of a runner. An allow list: the next secret in the service's own environment has a name nobody thought of.
 * Nothing secret may stand here, because /proc/1/environ shows it to every process inside.
 */
export function runnerEnvironment(facts: RunFacts): Record<string, string> {
  return {
    ...facts.harnessEnvironment,
    PATH: `${facts.tools ? `${inside.tools}/bin:` : ''}/usr/local/bin:/usr/bin`,
    HOME: inside.home,
    LANG: 'C.UTF-8',
    FLUIDBOX_TOKENS_FD: '3',
    FLUIDBOX_SESSION_ID: facts.runId,
    FLUIDBOX_MODEL: facts.model,
    FLUIDBOX_AUTONOMY: facts.autonomy,
    FLUIDBOX_TRUST_TIER: facts.trustTier,
    FLUIDBOX_WORKSPACE: inside.workspace,
    FLUIDBOX_CONTROL_URL: `unix:${inside.door}/control.sock`,
    FLUIDBOX_LLM_URL: `unix:${inside.door}/llm.sock`,
  };
}
