// What every npm script calls: makes the clone ready (progress on stderr only), then becomes the command. Plain Node without
// dependencies, because it runs before anything is installed.

import fs from 'node:fs';
import path from 'node:path';
import { ensureBuilt } from './setup/build.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { handOver } from './setup/hand-over.mjs';
import { binDir, root, SetupFailure, say } from './setup/layout.mjs';
import { ensureBubblewrap, ensureNatsServer } from './setup/programs.mjs';
import { withTurn } from './setup/turn.mjs';

const cli = path.join(root, 'libs/cli/dist/main.js');
const script = (name) => path.join(import.meta.dirname, `${name}.mjs`);

// `programs`: whether the command may start the stack or a sandbox. doctor only looks: it must report what is missing, not hide it.
const commands = {
  setup: { programs: true, required: true },
  build: { programs: false, force: true },
  fluidbox: { file: cli, args: [], programs: true },
  demo: { file: cli, args: ['demo'], programs: true },
  up: { file: cli, args: ['up'], programs: true },
  doctor: { file: cli, args: ['doctor'], programs: false },
  bench: { file: script('bench'), args: [], programs: true },
  proof: { file: script('proof'), args: [], programs: true },
  mutate: { file: script('mutate'), args: [], programs: true },
  check: { file: script('check'), args: [], programs: false },
  test: { file: script('test'), args: [], programs: true },
};

function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  throw new SetupFailure(`Node ${process.versions.node} is too old. Fix: install Node 20.19 or newer`);
}

function makeReady({ programs = false, required = false, force = false }) {
  ensureDependencies();
  ensureBuilt({ force });
  if (!programs) return;
  const missing = [ensureNatsServer(), ensureBubblewrap()].filter((reason) => reason !== undefined);
  if (required && missing.length > 0) throw new SetupFailure(missing.join('\nfluidbox: '));
  // Help, or a command about a file, needs neither; one that does will refuse with the same fix.
  for (const reason of missing) say(reason);
}

async function main([name, ...args]) {
  const command = Object.hasOwn(commands, name ?? '') ? commands[name] : undefined;
  if (!command) throw new SetupFailure(`unknown command ${name ?? ''}; known: ${Object.keys(commands).join(', ')}`);
  requireNode();
  await withTurn(() => makeReady(command));
  if (!command.file) return say('ready');
  if (!fs.existsSync(command.file)) throw new SetupFailure(`${name} does not exist in this version`);
  const env = { ...process.env, PATH: `${binDir}${path.delimiter}${process.env.PATH ?? ''}` };
  handOver(command.file, [...command.args, ...args], env, command.file === cli ? process.env.INIT_CWD : undefined);
}

main(process.argv.slice(2)).catch((error) => {
  process.stderr.write(`fluidbox: ${error instanceof SetupFailure ? error.message : error.stack}\n`);
  process.exit(1);
});
