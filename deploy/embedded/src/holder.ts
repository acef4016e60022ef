import { holderOf, type LockHolder, tryLock } from '@fluidbox/tooling/pid-lock';
import { EmbeddedFailure } from './embedded-failure';
import { makePrivateFolder } from './files';
import type { HomeLayout } from './layout';

export class FolderIsHeld extends EmbeddedFailure {
  constructor(
    readonly home: string,
    readonly holder: LockHolder,
  ) {
    super(`${home} is held by process ${holder.pid} since ${holder.since}. Fix: use that stack, or end it with: kill ${holder.pid}`);
  }
}

/** Makes this process the only one that runs a stack on the folder; answers how to give it up. */
export function holdFolder(layout: HomeLayout): () => void {
  makePrivateFolder(layout.home);
  const { release, holder } = tryLock(layout.holderLock);
  if (holder) throw new FolderIsHeld(layout.home, holder);
  return release;
}

export const folderHolder = (layout: HomeLayout): LockHolder | undefined => holderOf(layout.holderLock);
