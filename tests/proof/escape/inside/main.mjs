// Tries to leave the sandbox, or to reach what stands above it, from one command of the agent. Reads targets.json beside it, writes one
// row per attempt to results.jsonl beside it. `../README.md` says how it is started.

import fs from 'node:fs';
import path from 'node:path';
import { controlPlaneAttempts } from './control-plane.mjs';
import { fileAttempts } from './files.mjs';
import { kernelAttempts } from './kernel.mjs';
import { networkAttempts } from './network.mjs';
import { outcomeOf } from './outcome.mjs';
import { processAttempts } from './processes.mjs';
import { secretFinder } from './secrets.mjs';

const here = import.meta.dirname;
const targets = JSON.parse(fs.readFileSync(path.join(here, 'targets.json'), 'utf8'));
const search = secretFinder(targets.secrets);

// What opens sockets or starts programs comes after what looks for those of others.
const attempts = [
  ...processAttempts(search),
  ...fileAttempts({ hostPaths: targets.hostPaths, ownFolder: here }, search),
  ...controlPlaneAttempts(targets),
];
const rows = [];
const record = async (tried) => {
  const { group, name, closedBy } = tried;
  return { group, name, closedBy, ...(await outcomeOf(tried)) };
};
for (const tried of attempts) rows.push(await record(tried));
// Each of these may wait for seconds.
rows.push(...(await Promise.all(networkAttempts().map(record))));
for (const tried of kernelAttempts()) rows.push(await record(tried));

fs.writeFileSync(path.join(here, 'results.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
const count = (result) => rows.filter((row) => row.result === result).length;
console.log(`${rows.length} attempts: ${count('blocked')} blocked, ${count('through')} through, ${count('not tried')} not tried`);
