import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { runStream, type StreamRef } from '@fluidbox/contracts';
import { z } from 'zod';
import type { RunPlace } from '../app/ports';
import { readJsonFile, runFiles, writeFileAtomically } from './files';
import { uidForRun } from './local/uids';

const RunFile = z.strictObject({ deployment_id: z.string(), run_id: z.uuid(), org: z.string(), uid: z.number().int().nullable() });
const run = promisify(execFile);

/** The folders of runs on this host. Two deployments may share a folder: each touches only its own. */
export class RunPlaces {
  constructor(
    private readonly folder: string,
    private readonly deploymentId: string,
    /** First uid of sandboxes when we are root, else null. */
    private readonly firstUid: number | null,
  ) {}

  take(stream: StreamRef): RunPlace {
    const found = this.find(stream);
    if (found !== null) return found;
    const runDir = this.#dirOf(stream.id);
    fs.mkdirSync(runDir, { recursive: true, mode: 0o700 });
    const uid = this.firstUid === null ? null : uidForRun(stream.id, this.firstUid, new Set(this.#all().flatMap((each) => each.uid ?? [])));
    writeFileAtomically(
      runFiles(runDir).run,
      JSON.stringify({ deployment_id: this.deploymentId, run_id: stream.id, org: stream.org, uid }),
    );
    return { runDir, uid };
  }

  find(stream: StreamRef): RunPlace | null {
    const file = this.#read(stream.id);
    return file === null ? null : { runDir: this.#dirOf(stream.id), uid: file.uid };
  }

  /** With coreutils, which climbs down by descriptors: an agent can make paths longer than any path may be, and take its own rights away. */
  async clear(stream: StreamRef): Promise<void> {
    const runDir = this.#dirOf(stream.id);
    const file = this.#read(stream.id);
    if (file === null) return;
    const remove = () => run('rm', ['-rf', '--one-file-system', '--', runDir], { cwd: '/' });
    await remove().catch(async () => {
      await run('chmod', ['-R', 'u+rwX', '--', runDir], { cwd: '/' });
      await remove();
    });
  }

  /** Runs of this deployment that have a folder here, also those that no table knows. */
  runs(): readonly StreamRef[] {
    return this.#all().map((file) => runStream(file.run_id, file.org));
  }

  #all(): readonly z.infer<typeof RunFile>[] {
    if (!fs.existsSync(this.folder)) return [];
    return fs.readdirSync(this.folder).flatMap((name) => this.#read(name) ?? []);
  }

  #read(runId: string): z.infer<typeof RunFile> | null {
    const file = readJsonFile(runFiles(this.#dirOf(runId)).run, RunFile);
    return file !== null && file.deployment_id === this.deploymentId && file.run_id === runId ? file : null;
  }

  #dirOf(runId: string): string {
    return path.join(this.folder, path.basename(runId));
  }
}
