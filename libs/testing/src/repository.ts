import { existsSync } from 'node:fs';
import path from 'node:path';

/** The root of the clone: the folder of pnpm-workspace.yaml, found from here whether this file runs from src or dist. */
export const repositoryRoot: string = (() => {
  for (let at = __dirname; ; at = path.dirname(at)) {
    if (existsSync(path.join(at, 'pnpm-workspace.yaml'))) return at;
    if (at === path.dirname(at)) throw new Error(`no pnpm-workspace.yaml above ${__dirname}`);
  }
})();
