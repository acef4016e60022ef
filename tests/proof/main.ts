import { appendIntegrity } from '../bench/append-integrity';
import { growth } from '../bench/growth/growth';
import { proveApprovals } from './approvals/prove-approvals';
import { proveEscape } from './escape/prove-escape';
import { proveFacade } from './facade/prove-facade';
import { proveGoals } from './goals/prove-goals';
import { proveRecovery } from './recovery/prove-recovery';

const proofs: Readonly<Record<string, typeof proveEscape>> = {
  approvals: proveApprovals,
  escape: proveEscape,
  facade: proveFacade,
  growth: proveGoals(growth),
  ledger: proveGoals(appendIntegrity),
  recovery: proveRecovery,
};

const say = (text: string): void => {
  process.stderr.write(`fluidbox: ${text}\n`);
};
const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

async function main(args: readonly string[]): Promise<number> {
  const [name = '', ...more] = args.filter((arg) => arg !== '--json');
  const prove = Object.hasOwn(proofs, name) ? proofs[name] : undefined;
  if (prove === undefined || more.length > 0) {
    say(`usage: npm run proof -- NAME [--json]; known: ${Object.keys(proofs).join(', ')}`);
    return 2;
  }
  return prove(say, print, args.includes('--json'));
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exit(1);
  },
);
