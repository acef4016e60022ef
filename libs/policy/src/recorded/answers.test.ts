import fs from 'node:fs';
import path from 'node:path';
import { questions } from './questions.fixture';

/**
 * The words and places that the package answers with, as they were recorded: problems, findings, notes, explanations. A difference is wanted
 * or a mistake; look at each, then record anew with FLUIDBOX_RECORD=1.
 */
const file = path.join(__dirname, 'answers.jsonl');
const asked = async (name: string): Promise<unknown> => JSON.parse(JSON.stringify((await questions[name]?.()) ?? null));
const names = Object.keys(questions);

if (process.env.FLUIDBOX_RECORD === '1')
  it('records', async () => {
    const lines: string[] = [];
    for (const name of names) lines.push(JSON.stringify([name, await asked(name)]));
    fs.writeFileSync(file, `${lines.join('\n')}\n`);
  });
else {
  const recorded = new Map(
    fs
      .readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as [string, unknown]),
  );
  it('every question has an answer, and no answer is left over', () => expect([...recorded.keys()]).toEqual(names));
  it.each(names)('%s', async (name) => expect(await asked(name)).toEqual(recorded.get(name)));
}
