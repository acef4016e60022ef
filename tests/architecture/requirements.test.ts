import { readFileSync } from 'node:fs';
import path from 'node:path';
import { requirements } from '../requirements';
import { repositoryRoot, sourcesIn } from './sources';

/** What a title begins with, also one of a table of cases: one or more ids of requirements in brackets. */
const citations = /['"`]((?:\[[A-Z]+-\d+\] ?)+)/g;

const folders = ['tests', 'services', 'libs', 'images', 'deploy'];
const citationsBySuite = folders
  .flatMap((folder) => sourcesIn(folder, { tests: true }).filter(({ file }) => file.endsWith('.test.ts')))
  .flatMap(({ file, text }) => {
    const suite = /^tests\/([^/]+)\//.exec(file)?.[1] ?? 'unit';
    const ids = [...text.matchAll(citations)].flatMap(([, found = '']) => found.match(/[A-Z]+-\d+/g) ?? []);
    return ids.map((id) => ({ suite, id }));
  });
const cited = citationsBySuite.map(({ id }) => id);
const claims =
  readFileSync(path.join(repositoryRoot, 'README.md'), 'utf8')
    .split('\n## ')
    .find((part) => part.startsWith('Claims')) ?? '';

describe('what we promise', () => {
  it('is cited by a test, each promise by at least one', () => {
    expect(Object.keys(requirements).filter((id) => !cited.includes(id))).toEqual([]);
  });
  it('stands in tests/requirements.ts, whatever a test cites', () => {
    expect(cited.filter((id) => !Object.hasOwn(requirements, id))).toEqual([]);
  });
  it('stands in the claims of the README with a command that proves it, and nothing else stands there', () => {
    const named = [...claims.matchAll(/`([A-Z]+)-(\*|\d+)`/g)].map(([, family = '', which = '']) => ({ family, which }));
    const isNamed = (id: string) =>
      named.some(({ family, which }) => `${family}-${which}` === id || (which === '*' && id.startsWith(`${family}-`)));
    expect(Object.keys(requirements).filter((id) => !isNamed(id))).toEqual([]);
    const promised = (family: string, which: string) =>
      Object.keys(requirements).some((id) => (which === '*' ? id.startsWith(`${family}-`) : id === `${family}-${which}`));
    expect(named.filter(({ family, which }) => !promised(family, which))).toEqual([]);
  });
  it('is cited in a suite that its row of the claims says to run', () => {
    const elsewhere = claims.split('\n').flatMap((row) => {
      const suites = [...row.matchAll(/`npm test -- ([a-z ]+)`/g)].flatMap(([, names = '']) => names.split(' '));
      const patterns = [...row.matchAll(/`([A-Z]+)-(\*|\d+)`/g)].map(([, family, which]) =>
        which === '*' ? new RegExp(`^${family}-`) : new RegExp(`^${family}-${which}$`),
      );
      return Object.keys(requirements)
        .filter((id) => patterns.some((pattern) => pattern.test(id)))
        .filter((id) => !citationsBySuite.some((citation) => citation.id === id && suites.includes(citation.suite)));
    });
    expect(elsewhere).toEqual([]);
  });
});
