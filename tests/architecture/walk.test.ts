import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { repositoryRoot } from './sources';

/**
 * The README's walk through one permission call: the table after the marker, one row per hop, `hop | process | file | what happens`. Every file
 * stands where the row says, and every `name` in code quotes in the last column stands in that file (or in a file of that folder).
 */
const marker = '<!-- walk -->';

interface Hop {
  readonly hop: string;
  readonly process: string;
  readonly file: string;
  readonly names: readonly string[];
}

function hopsOf(readme: string): Hop[] {
  const [, after] = readme.split(marker);
  if (after === undefined) throw new Error(`README.md has no ${marker}`);
  const lines = after.trimStart().split('\n');
  const end = lines.findIndex((line) => !line.startsWith('|'));
  const rows = lines.slice(0, end < 0 ? lines.length : end).filter((line) => /^\|\s*\d/.test(line));
  return rows.map((row) => {
    const [hop = '', process = '', file = '', what = ''] = row
      .split('|')
      .slice(1)
      .map((cell) => cell.trim());
    return {
      hop,
      process,
      file: /`([^`]+)`/.exec(file)?.[1] ?? '',
      names: [...what.matchAll(/`([A-Za-z][A-Za-z0-9]*)`/g)].map(([, name]) => name ?? ''),
    };
  });
}

const pathOf = ({ process, file }: Hop): string => {
  const home =
    existsSync(path.join(repositoryRoot, 'services', process)) && !/^(services|libs|images|deploy)\//.test(file)
      ? `services/${process}`
      : '';
  return path.join(repositoryRoot, home, file);
};

const problemsOf = (hop: Hop): string[] => {
  const at = pathOf(hop);
  if (hop.file === '' || !existsSync(at)) return [`hop ${hop.hop}: ${hop.file || 'no file'} does not exist`];
  const text = statSync(at).isFile() ? readFileSync(at, 'utf8') : null;
  return text === null
    ? []
    : hop.names.filter((name) => !new RegExp(`\\b${name}\\b`).test(text)).map((name) => `hop ${hop.hop}: ${hop.file} has no ${name}`);
};

describe('the walk in the README', () => {
  it('leads through files and names that are there', () => {
    const hops = hopsOf(readFileSync(path.join(repositoryRoot, 'README.md'), 'utf8'));
    expect(hops.length).toBeGreaterThanOrEqual(7);
    expect(hops.flatMap(problemsOf)).toEqual([]);
  });

  it('would not pass with a file or a name that is gone', () => {
    const readme = `${marker}
| hop | process | file | what happens |
|---|---|---|---|
| 1 | gate | \`src/domain/permission.ts\` | \`decidePermission\` |
| 2 | gate | \`src/domain/gone.ts\` | decides |
| 3 | gate | \`src/domain/permission.ts\` | \`decideNothingAtAll\` |

More text.`;
    expect(hopsOf(readme).flatMap(problemsOf)).toEqual([
      'hop 2: src/domain/gone.ts does not exist',
      'hop 3: src/domain/permission.ts has no decideNothingAtAll',
    ]);
  });
});
