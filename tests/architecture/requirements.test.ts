import { requirements } from '../requirements';
import { sourcesIn } from './sources';

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
});
