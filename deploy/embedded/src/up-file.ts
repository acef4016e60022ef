import fs from 'node:fs';
import { UpFile } from '@fluidbox/contracts';
import { isAlive } from '@fluidbox/tooling/identity';
import { readJsonIfPresent, writeFileAtomically } from './files';

const HEALTH_MS_MAX = 3_000;

export function writeUpFile(file: string, content: UpFile): void {
  writeFileAtomically(file, `${JSON.stringify(UpFile.parse(content), null, 2)}\n`);
}

export function removeUpFile(file: string): void {
  fs.rmSync(file, { force: true });
}

/** What `up.json` says, when the process that wrote it still lives. */
export function readUpFile(file: string): UpFile | undefined {
  const parsed = UpFile.safeParse(readJsonIfPresent(file));
  if (!parsed.success) return undefined;
  return isAlive({ pid: parsed.data.pid, startTime: parsed.data.pid_started_at }) ? parsed.data : undefined;
}

export async function answersHealth(publicUrl: string): Promise<boolean> {
  try {
    const response = await fetch(new URL('/v1/health', publicUrl), { signal: AbortSignal.timeout(HEALTH_MS_MAX) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

/** The stack of this folder, when it lives and answers. */
export async function liveStack(upFile: string): Promise<UpFile | undefined> {
  const up = readUpFile(upFile);
  return up && (await answersHealth(up.public_url)) ? up : undefined;
}
