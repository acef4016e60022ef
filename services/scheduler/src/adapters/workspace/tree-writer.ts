import fs from 'node:fs';
import { type BytePath, type LookUp, linkStaysInside, refusePath, type TreeLimits } from '../../domain/tree';
import { isErrno } from '../files';
import { bytesOfPath, displayPath, pathOfBytes } from './byte-path';
import { RootedFolder } from './rooted-folder';

/** An entry that must not be written, or a limit that is passed; the message names the entry. */
export class TreeRefused extends Error {
  constructor(path: BytePath, reason: string) {
    super(`${JSON.stringify(displayPath(path))} ${reason}`);
    this.name = 'TreeRefused';
  }
}

/**
 * Writes entries below a fresh folder. Each parent is opened as a real folder at the moment of writing, so an entry can never be written
 * through a link that an earlier one made. Call `removeLeavingLinks` at the end: only then is it known where a link leads.
 */
export class TreeWriter {
  readonly #root: RootedFolder;
  readonly #links: BytePath[] = [];
  #files = 0;
  #bytes = 0;

  constructor(
    folder: string,
    private readonly limits: TreeLimits,
    private readonly owner: number | null,
  ) {
    this.#root = RootedFolder.open(folder);
  }

  get files(): number {
    return this.#files;
  }
  get bytes(): number {
    return this.#bytes;
  }

  file(path: BytePath, executable: boolean, content: Buffer): void {
    this.#check(path, content.length);
    this.#below(path, (parent, name) => {
      const fd = parent.createFile(name, executable);
      try {
        fs.writeFileSync(fd, content);
        if (this.owner !== null) fs.fchownSync(fd, this.owner, this.owner);
      } finally {
        fs.closeSync(fd);
      }
    });
  }

  link(path: BytePath, target: BytePath): void {
    this.#check(path, 0);
    if (target === '' || target.includes('\0') || target.length > 4000) throw new TreeRefused(path, 'is a link to an impossible target');
    this.#below(path, (parent, name) => {
      fs.symlinkSync(bytesOfPath(target), parent.at(name));
      if (this.owner !== null) fs.lchownSync(parent.at(name), this.owner, this.owner);
    });
    this.#links.push(path);
  }

  /** Removes links that lead outside; one removed link can keep another one inside, so it is done until none is left. */
  removeLeavingLinks(): number {
    let removed = 0;
    for (let before = -1; before !== removed; ) {
      before = removed;
      for (const path of [...this.#links]) {
        if (linkStaysInside(path, this.#lookUp)) continue;
        this.#below(path, (parent, name) => fs.unlinkSync(parent.at(name)));
        this.#links.splice(this.#links.indexOf(path), 1);
        this.#files -= 1;
        removed += 1;
      }
    }
    return removed;
  }

  close(): void {
    this.#root.close();
  }

  #check(path: BytePath, bytes: number): void {
    const refusal = refusePath(path);
    if (refusal !== null) throw new TreeRefused(path, refusal);
    this.#files += 1;
    this.#bytes += bytes;
    if (this.#files > this.limits.filesMax)
      throw new TreeRefused(path, `is one file more than the ${this.limits.filesMax} that a workspace may have`);
    if (bytes > this.limits.fileBytesMax) throw new TreeRefused(path, `is larger than ${this.limits.fileBytesMax} bytes`);
    if (this.#bytes > this.limits.bytesMax) throw new TreeRefused(path, `takes the workspace over ${this.limits.bytesMax} bytes`);
  }

  /** Opens (making what is missing) each parent as a real folder and calls `act` with the last one. */
  #below(path: BytePath, act: (parent: RootedFolder, name: BytePath) => void): void {
    const parts = path.split('/');
    const name = parts.pop() ?? '';
    const opened: RootedFolder[] = [];
    try {
      let parent = this.#root;
      for (const part of parts) {
        const fresh = this.owner !== null && parent.stat(part) === null;
        const next = parent.makeFolder(part);
        opened.push(next);
        if (fresh && this.owner !== null) fs.fchownSync(next.fd, this.owner, this.owner);
        parent = next;
      }
      act(parent, name);
    } catch (error) {
      if (isErrno(error, 'ELOOP', 'ENOTDIR')) throw new TreeRefused(path, 'would be written through a link or a file');
      if (isErrno(error, 'EEXIST')) throw new TreeRefused(path, 'is there twice');
      throw error;
    } finally {
      for (const folder of opened) folder.close();
    }
  }

  readonly #lookUp: LookUp = (path) => {
    const parts = path.split('/');
    const name = parts.pop() ?? '';
    const opened: RootedFolder[] = [];
    try {
      let parent = this.#root;
      for (const part of parts) {
        parent = parent.folder(part);
        opened.push(parent);
      }
      const stat = parent.stat(name);
      if (stat === null) return 'missing';
      if (stat.isSymbolicLink()) return { target: pathOfBytes(parent.linkTarget(name)) };
      return stat.isDirectory() ? 'dir' : 'file';
    } catch (error) {
      if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return 'missing';
      throw error;
    } finally {
      for (const folder of opened) folder.close();
    }
  };
}
