import fs from 'node:fs';
import type { BytePath } from '../../domain/tree';
import { isErrno } from '../files';
import { bytesOfPath } from './byte-path';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = fs.constants;

/**
 * An open folder whose entries are reached through its descriptor, one name at a time and never through a link: what `openat` with
 * O_NOFOLLOW does, which Node has no call for. Whatever a tree holds, nothing outside it is touched.
 */
export class RootedFolder {
  private constructor(readonly fd: number) {}

  static open(path: string): RootedFolder {
    return new RootedFolder(fs.openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  }

  /** A path that the kernel resolves from the open folder, whatever happened to the names above it. */
  at(name: BytePath): Buffer {
    return Buffer.concat([Buffer.from(`/proc/self/fd/${this.fd}/`), bytesOfPath(name)]);
  }

  names(): BytePath[] {
    return fs.readdirSync(`/proc/self/fd/${this.fd}`, { encoding: 'latin1' }).sort();
  }

  stat(name: BytePath): fs.Stats | null {
    return fs.lstatSync(this.at(name), { throwIfNoEntry: false }) ?? null;
  }

  /** Throws ENOTDIR or ELOOP on a link or file of that name. */
  folder(name: BytePath): RootedFolder {
    return new RootedFolder(this.#readable(name, 0o700, () => fs.openSync(this.at(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW)));
  }

  /** Opens a regular file for reading. A pipe put there does not block. */
  openFile(name: BytePath): number {
    return this.#readable(name, 0o600, () => fs.openSync(this.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  }

  makeFolder(name: BytePath): RootedFolder {
    try {
      fs.mkdirSync(this.at(name), 0o755);
    } catch (error) {
      if (!isErrno(error, 'EEXIST')) throw error;
    }
    return this.folder(name);
  }

  createFile(name: BytePath, executable: boolean): number {
    const fd = fs.openSync(this.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o644);
    fs.fchmodSync(fd, executable ? 0o755 : 0o644);
    return fd;
  }

  linkTarget(name: BytePath): Buffer {
    return fs.readlinkSync(this.at(name), { encoding: 'buffer' });
  }

  close(): void {
    fs.closeSync(this.fd);
  }

  /** An agent may take its own files' read permission away; started as an ordinary user we are their owner and give it back. */
  #readable(name: BytePath, mode: number, open: () => number): number {
    try {
      return open();
    } catch (error) {
      if (!isErrno(error, 'EACCES')) throw error;
      const stat = this.stat(name);
      if (stat === null || stat.isSymbolicLink() || stat.uid !== process.getuid?.()) throw error;
      fs.chmodSync(this.at(name), mode);
      return open();
    }
  }
}
