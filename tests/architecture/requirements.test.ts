import { readFileSync } from 'node:fs';
import path from 'node:path';
import { requirements } from '../requirements';
import { repositoryRoot, sourcesIn } from './sources';

/** What a title begins with, also one of a table of cases: one or more ids of requirements in brackets. */
const citations = /['"`]((?:\[[A-Z]+-\d+\] ?)+)/g;

const folders = ['tests', 'services', 'libs', 'images', 'deploy'];
const cited = folders
  .flatMap((folder) => sourcesIn(folder, { tests: true }).filter(({ file }) => file.endsWith('.test.ts')))
  .flatMap(({ text }) => [...text.matchAll(citations)].flatMap(([, ids = '']) => ids.match(/[A-Z]+-\d+/g) ?? []));

describe('what we promise', () => {
  it('is cited by a test, each promise by at least one', () => {
    expect(Object.keys(requirements).filter((id) => !cited.includes(id))).toEqual([]);
  });
  it('stands in tests/requirements.ts, whatever a test cites', () => {
    expect(cited.filter((id) => !Object.hasOwn(requirements, id))).toEqual([]);
  });
  it('stands in the claims of the README with a command that proves it, and nothing else stands there', () => {
    const claims =
      readFileSync(path.join(repositoryRoot, 'README.md'), 'utf8')
        .split('\n## ')
        .find((part) => part.startsWith('Claims')) ?? '';
    const named = [...claims.matchAll(/`([A-Z]+)-(\*|\d+)`/g)].map(([, family = '', which = '']) => ({ family, which }));
    const isNamed = (id: string) =>
      named.some(({ family, which }) => `${family}-${which}` === id || (which === '*' && id.startsWith(`${family}-`)));
    expect(Object.keys(requirements).filter((id) => !isNamed(id))).toEqual([]);
    const promised = (family: string, which: string) =>
      Object.keys(requirements).some((id) => (which === '*' ? id.startsWith(`${family}-`) : id === `${family}-${which}`));
    expect(named.filter(({ family, which }) => !promised(family, which))).toEqual([]);
  });
});
