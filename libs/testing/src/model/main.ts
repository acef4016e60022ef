import { parseArgs } from 'node:util';
import { readScriptFile } from './script';
import { startScriptedModel } from './server';

/** `main.js --script FILE [--port N] [--host ADDRESS]`: prints `{"url":…}` on one line when it listens; ends on SIGTERM or SIGINT. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { script: { type: 'string' }, port: { type: 'string', default: '0' }, host: { type: 'string', default: '127.0.0.1' } },
  });
  if (values.script === undefined) throw new Error('--script FILE is required');
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > 65535) throw new Error('--port must be a port number');
  const model = await startScriptedModel({ script: readScriptFile(values.script), port, host: values.host });
  process.stdout.write(`${JSON.stringify({ url: model.url })}\n`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void model.close());
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
