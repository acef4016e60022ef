// `npm run bench -- ID`: measures a performance goal side by side on this machine. The benches are in tests/bench.

import { becomeScript } from './suite/run-script.mjs';

becomeScript('tests/bench/main.ts', process.argv.slice(2));
