import fs from 'node:fs';
import path from 'node:path';
import { isBelow } from '../../domain/workspace-source';

/**
 * The git folder of a local repository, ready to be named to git. A repository can stand for another one: by a `.git` file or link, a `commondir`
 * file, links below refs and objects, alternates. Each of them must lead to a place below the roots, or whoever may write below them reads
 * every repository of the machine. Throws with the place that lies outside.
 */
export function localGitFolder(folder: string, roots: readonly string[]): string {
  const gitFolder = realOrNull(gitFolderOf(folder));
  if (gitFolder === null || !fs.statSync(gitFolder).isDirectory()) throw new Error(`${folder} is no git repository`);
  for (const place of placesOf(gitFolder)) {
    const real = realOrNull(place);
    if (real !== null && !isBelow(real, roots))
      throw new Error(`${folder} is a repository that reads ${real}, which FLUIDBOX_LOCAL_SOURCES does not allow: add its folder there`);
  }
  return gitFolder;
}

function gitFolderOf(folder: string): string {
  const inside = path.join(folder, '.git');
  const kind = fs.statSync(inside, { throwIfNoEntry: false });
  if (kind === undefined) return folder;
  if (!kind.isFile()) return inside;
  const named = /^gitdir: (.+)$/m.exec(smallFile(inside))?.[1]?.trim() ?? '';
  return path.resolve(folder, named);
}

/** Everything that git would read of the repository and that may lie elsewhere. */
function* placesOf(gitFolder: string): Generator<string> {
  const named = smallFile(path.join(gitFolder, 'commondir')).trim();
  const common = named === '' ? gitFolder : path.resolve(gitFolder, named);
  yield gitFolder;
  yield common;
  yield path.join(gitFolder, 'HEAD');
  for (const name of ['packed-refs', 'shallow']) yield path.join(common, name);
  yield* linksBelow(path.join(common, 'refs'));
  yield* objectPlaces(path.join(common, 'objects'), new Set());
}

function* objectPlaces(objects: string, seen: Set<string>): Generator<string> {
  if (seen.has(objects)) return;
  seen.add(objects);
  yield* linksBelow(objects);
  const alternates = smallFile(path.join(objects, 'info/alternates')).split('\n');
  for (const line of alternates) if (line !== '' && !line.startsWith('#')) yield* objectPlaces(path.resolve(objects, line), seen);
}

function* linksBelow(folder: string): Generator<string> {
  yield folder;
  if (fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return;
  for (const entry of fs.readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isSymbolicLink()) yield path.join(entry.parentPath, entry.name);
}

const smallFileBytesMax = 64 * 1024;

/** Empty when there is none. */
function smallFile(file: string): string {
  const kind = fs.statSync(file, { throwIfNoEntry: false });
  if (kind?.isFile() !== true) return '';
  if (kind.size > smallFileBytesMax) throw new Error(`${file} is too large for what it should be`);
  return fs.readFileSync(file, 'utf8');
}

const realOrNull = (place: string): string | null => (fs.existsSync(place) ? fs.realpathSync(place) : null);
