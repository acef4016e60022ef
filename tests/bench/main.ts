import { parseArgs } from 'node:util';
import { endOnInterruption } from '../system/support/interruption';
import { benches } from './benches';
import { judge, type Plan, plan } from './support/measure';
import { jsonReport, report } from './support/report';
import { type Servers, startServers } from './support/servers';

const usage = `usage: npm run bench -- ID [--rounds N] [--slice-ms N] [--runs N] [--size toy|usual|full] [--json]; known: ${Object.keys(benches).join(', ')}`;

/** Servers that end with the work, also on Ctrl-C. */
async function withServers<T>(work: (servers: () => Promise<Servers>) => Promise<T>): Promise<T> {
  let started: Promise<Servers> | undefined;
  const stop = async (): Promise<void> => {
    await (await started)?.stop();
  };
  endOnInterruption(stop);
  try {
    return await work(() => {
      started ??= startServers();
      return started;
    });
  } finally {
    await stop();
  }
}

const options = {
  rounds: { type: 'string' },
  'slice-ms': { type: 'string' },
  runs: { type: 'string' },
  size: { type: 'string', default: 'usual' },
  json: { type: 'boolean', default: false },
} as const;

function wordsGiven() {
  try {
    return parseArgs({ allowPositionals: true, options });
  } catch (cause) {
    throw new Error(`${cause instanceof Error ? cause.message : String(cause)}\n${usage}`);
  }
}

async function main(): Promise<number> {
  const { values, positionals } = wordsGiven();
  const [id = '', ...more] = positionals;
  const bench = Object.hasOwn(benches, id) ? benches[id] : undefined;
  if (bench === undefined || more.length > 0) throw new Error(usage);
  const number = (name: 'rounds' | 'slice-ms' | 'runs', otherwise: number): number => {
    const value = values[name] === undefined ? otherwise : Number(values[name]);
    if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number from 1\n${usage}`);
    return value;
  };
  process.stderr.write(`fluidbox: ${bench.id}: ${bench.what}\n`);
  const { size } = values;
  if (size !== 'toy' && size !== 'usual' && size !== 'full') throw new Error(`--size is toy, usual or full\n${usage}`);
  const wanted: Plan = {
    ...plan,
    size,
    rounds: number('rounds', plan.rounds),
    sliceMs: number('slice-ms', plan.sliceMs),
    ...(values.runs === undefined ? {} : { runs: number('runs', 1) }),
  };
  const figures = await withServers((servers) => bench.run(wanted, servers));
  const checks = bench.checks.map((check) => judge(check, figures.rounds));
  process.stdout.write(values.json ? jsonReport(bench, figures, checks) : report(bench, figures, checks));
  // A goal that this machine does not meet right now is a finding, not a failure of the command.
  return 0;
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`fluidbox: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(2);
  },
);
