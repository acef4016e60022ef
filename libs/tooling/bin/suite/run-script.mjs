// Becomes a TypeScript file of tests/, which is never built: proofs and benches.

import path from 'node:path';
import { handOver } from '../setup/hand-over.mjs';
import { root } from '../setup/layout.mjs';

export function becomeScript(file, args) {
  const register = path.join(root, 'libs/tooling/process/register.cjs');
  // Node's own options stand before the file.
  handOver('--conditions=source', ['--require', register, path.join(root, file), ...args], process.env);
}
