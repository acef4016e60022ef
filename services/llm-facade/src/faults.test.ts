import { faults, runFault } from './testing/faults';
import { wires } from './testing/wires';

/** A sample of `npm run proof -- facade`: each dialect with every fault, in one of its forms. */
const sample = wires.flatMap((wire, w) =>
  faults.flatMap((fault, f) =>
    fault.of.filter((_form, i) => fault.of.length === 1 || (f + w + i) % 2 === 0).map((form) => ({ wire, fault, form })),
  ),
);

describe('a faulty provider', () => {
  it.each(sample.map((row) => [row.wire.name, row.fault.name, row.form, row] as const))(
    '[MODEL-1] [MODEL-2] %s: %s (%s)',
    async (_wire, _fault, _form, row) => {
      const { wrong } = await runFault(row.wire, row.fault, row.form === 'stream');
      expect(wrong).toEqual([]);
    },
  );
});
