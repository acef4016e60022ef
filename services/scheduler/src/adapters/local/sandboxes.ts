import fs from 'node:fs';
import path from 'node:path';
import type { RunSpec } from '@fluidbox/contracts';
import type { Ports, RunPlace } from '../../app/ports';
import { inside, runnerEnvironment, type SandboxLimits, type SandboxPlan } from '../../domain/sandbox-plan';
import { runFiles } from '../files';
import { executeOnlyNode } from './execute-only-node';
import { checkHost, type HostCheck } from './host-checks';
import type { LocalProvider } from './local-provider';
import { findRunnerImage } from './runner-image';

export interface SandboxSettings {
  readonly deploymentId: string;
  readonly upFile: string;
  readonly imagesDir: string;
  /** Where the execute-only copy of node is kept. */
  readonly nodeDir: string;
  readonly limits: SandboxLimits;
  readonly firstUid: number | null;
  /** Where bubblewrap and the other programs are looked for first. */
  readonly searchPath: string;
}

/** Plans sandboxes of the local provider and hands them to it. */
export class LocalSandboxes {
  #host: HostCheck | null = null;

  constructor(
    private readonly provider: LocalProvider,
    private readonly settings: SandboxSettings,
  ) {}

  /** A refusal is looked at again each time: who follows the fix need not restart anything. */
  checkHost(): HostCheck {
    if (this.#host?.ok !== true) this.#host = checkHost(this.settings.firstUid, process.getuid?.() === 0, this.settings.searchPath);
    return this.#host;
  }

  plan(place: RunPlace, spec: RunSpec, generation: number): SandboxPlan {
    const host = this.checkHost();
    if (!host.ok) throw new Error(`no sandbox can be had here: ${host.reason}`);
    const image = findRunnerImage(this.settings.imagesDir, spec.harness.image);
    if (image.digest !== spec.runner_digest)
      throw new Error(
        `the image ${spec.harness.image} is ${image.digest} now, the run was frozen with ${spec.runner_digest}: create the run again`,
      );
    const tools = toolsFolder();
    const { runDir, uid } = place;
    return {
      deploymentId: this.settings.deploymentId,
      runId: spec.run_id,
      generation,
      sandboxId: `local-${spec.run_id}-${generation}`,
      runDir,
      upFile: this.settings.upFile,
      uid,
      bubblewrap: host.bubblewrap,
      node: executeOnlyNode(this.settings.nodeDir),
      bundleDir: image.bundleDir,
      binds: [
        ...image.binds,
        ...(tools === null ? [] : [{ src: tools, dest: inside.tools }]),
        ...(host.bubblewrap === '/usr/bin/bwrap' ? [] : [{ src: host.bubblewrap, dest: inside.bubblewrap }]),
      ],
      workspaceDir: runFiles(runDir).workspace,
      readOnlyWorkspace: spec.trust_tier === 'read_only',
      environment: runnerEnvironment({
        runId: spec.run_id,
        model: spec.model,
        autonomy: spec.autonomy,
        trustTier: spec.trust_tier,
        harnessEnvironment: spec.harness.environment,
        tools: tools !== null,
      }),
      limits: this.settings.limits,
    };
  }

  start(plan: SandboxPlan, secrets: Parameters<Ports['sandboxes']['start']>[1]): ReturnType<Ports['sandboxes']['start']> {
    return this.provider.start(plan, secrets);
  }

  look(place: RunPlace): ReturnType<Ports['sandboxes']['look']> {
    return this.provider.look(place.runDir);
  }

  stop(place: RunPlace): ReturnType<Ports['sandboxes']['stop']> {
    return this.provider.stop(place.runDir);
  }

  writeLease(place: RunPlace, lease: Parameters<Ports['sandboxes']['writeLease']>[1]): void {
    this.provider.writeLease(place.runDir, lease);
  }
}

/** The agent's commands need node and npm. Below /usr they are there already; an installation elsewhere is bound as a whole. */
function toolsFolder(): string | null {
  const prefix = path.dirname(path.dirname(fs.realpathSync(process.execPath)));
  return prefix === '/usr' || prefix.startsWith('/usr/') || !fs.existsSync(path.join(prefix, 'bin', 'node')) ? null : prefix;
}
