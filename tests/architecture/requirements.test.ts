import { requirements } from '../requirements';
import { sourcesIn } from './sources';

/** `[DEMO-1] …` in the title of a test. */
const citation = /\[([A-Z]+-\d+)\]/g;
const title = /\b(?:it|test|describe)(?:\.\w+)*(?:\([^()]*\))?\(\s*(['"`])((?:(?!\1).)*)\1/g;

const folders = ['tests', 'services', 'libs', 'images', 'deploy'];
const cited = folders
  .flatMap((folder) => sourcesIn(folder, { tests: true }).filter(({ file }) => file.endsWith('.test.ts')))
  .flatMap(({ text }) => [...text.matchAll(title)].flatMap(([, , words = '']) => [...words.matchAll(citation)].map(([, id]) => id ?? '')));

describe('what we promise', () => {
  it('is cited by a test, each promise by at least one', () => {
    expect(Object.keys(requirements).filter((id) => !cited.includes(id))).toEqual([]);
  });
  it('stands in tests/requirements.ts, whatever a test cites', () => {
    expect(cited.filter((id) => !Object.hasOwn(requirements, id))).toEqual([]);
  });
});
