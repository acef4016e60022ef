import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { EmbeddedFailure } from './embedded-failure';
import { repositoryRoot } from './layout';

const VERSION_MIN = { major: 2, minor: 10 };

export interface NatsBinary {
  readonly file: string;
  readonly version: string;
  readonly newEnough: boolean;
}

/** Folder into which the set-up unpacks programs; it goes before PATH. */
export const toolsBin = path.join(repositoryRoot, '.fluidbox/tools/bin');

function inspect(file: string): NatsBinary | undefined {
  const answer = spawnSync(file, ['--version'], { encoding: 'utf8' }).stdout ?? '';
  const [, version, major, minor] = /v?((\d+)\.(\d+)\.\S+)/.exec(answer) ?? [];
  if (version === undefined) return undefined;
  const newEnough = Number(major) > VERSION_MIN.major || (Number(major) === VERSION_MIN.major && Number(minor) >= VERSION_MIN.minor);
  return { file, version, newEnough };
}

/** Every nats-server that would be found, best first. */
export function natsBinaries(searchPath = `${toolsBin}${path.delimiter}${process.env.PATH ?? ''}`): NatsBinary[] {
  const files = [...new Set(searchPath.split(path.delimiter).filter((dir) => dir !== ''))].map((dir) => path.join(dir, 'nats-server'));
  const found = files.filter((file) => fs.existsSync(file)).flatMap((file) => inspect(file) ?? []);
  return found.sort((a, b) => Number(b.newEnough) - Number(a.newEnough));
}

export function natsBinary(): string {
  const [best] = natsBinaries();
  if (best?.newEnough) return best.file;
  const found = best ? `${best.file} is ${best.version}` : 'none is installed';
  throw new EmbeddedFailure(`nats-server ${VERSION_MIN.major}.${VERSION_MIN.minor} or newer is needed; ${found}. Fix: npm run setup`);
}
