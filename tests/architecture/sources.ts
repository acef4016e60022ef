import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export const repositoryRoot = path.resolve(__dirname, '../..');
const left = new Set(['node_modules', 'dist', '.fluidbox', '.cache', 'fixtures', 'testing']);

export interface Source {
  /** From the root of the repository. */
  readonly file: string;
  readonly text: string;
}

/** The TypeScript under a folder, without what only tests use unless asked for. */
export function sourcesIn(folder: string, { tests = false } = {}): readonly Source[] {
  return readdirSync(path.join(repositoryRoot, folder), { withFileTypes: true }).flatMap((entry): readonly Source[] => {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) return left.has(entry.name) ? [] : sourcesIn(file, { tests });
    const wanted = entry.name.endsWith('.ts') && (tests || !/\.(test|fixture)\.ts$/.test(entry.name));
    return wanted ? [{ file, text: readFileSync(path.join(repositoryRoot, file), 'utf8') }] : [];
  });
}
