import fs from 'node:fs';
import path from 'node:path';

/**
 * A copy of this node that may be executed but not read: the kernel then makes the process non-dumpable, so that another process of
 * the same uid can open neither its memory nor its environment nor its descriptors. Answers the path of the copy.
 */
export function executeOnlyNode(folder: string, source = fs.realpathSync(process.execPath)): string {
  const stat = fs.statSync(source);
  const copy = path.join(folder, `node-${process.version}-${stat.size}-${Math.trunc(stat.mtimeMs)}`);
  if (fs.existsSync(copy)) return copy;
  fs.mkdirSync(folder, { recursive: true, mode: 0o711 });
  const draft = `${copy}.${process.pid}`;
  fs.copyFileSync(source, draft, fs.constants.COPYFILE_FICLONE);
  fs.chmodSync(draft, 0o111);
  fs.renameSync(draft, copy);
  return copy;
}
