// `npm run proof -- NAME`: shows a promise on this machine instead of claiming it. The proofs are in tests/proof.

import { becomeScript } from './suite/run-script.mjs';

becomeScript('tests/proof/main.ts', process.argv.slice(2));
