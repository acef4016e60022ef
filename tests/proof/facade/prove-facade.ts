import { brokenOffAt, type Fault, faults, runFault } from '../../../services/llm-facade/src/testing/faults';
import { type Wire, wires } from '../../../services/llm-facade/src/testing/wires';

interface Row {
  readonly wire: string;
  readonly fault: string;
  readonly form: string;
  readonly status: number | null;
  readonly ends: string;
  readonly booked: string;
  readonly wrong: readonly string[];
}

/** Every fault of a provider, and of the runner, in both dialects and both forms of an answer; then a stream broken off behind each of its bytes. */
export async function proveFacade(say: (text: string) => void, print: (text: string) => void, json: boolean): Promise<number> {
  const rows: Row[] = [];
  const tried = async (wire: Wire, fault: Fault, form: 'stream' | 'piece'): Promise<void> => {
    const { status, ends, booked, wrong } = await runFault(wire, fault, form === 'stream');
    rows.push({ wire: wire.name, fault: fault.name, form, status, ends, booked, wrong });
  };
  for (const wire of wires) {
    say(`${wire.name}: ${faults.length} faults`);
    for (const fault of faults) for (const form of fault.of) await tried(wire, fault, form);
    const broken = brokenOffAt(wire);
    say(`${wire.name}: a stream broken off behind each of its ${broken.bytes} bytes`);
    for (let at = 0; at <= broken.bytes; at++) await tried(wire, broken.fault(at), 'stream');
  }
  const failed = rows.filter(({ wrong }) => wrong.length > 0);
  print(json ? JSON.stringify({ rows: rows.length, failed }) : table(rows, failed));
  return failed.length === 0 ? 0 : 1;
}

function table(rows: readonly Row[], failed: readonly Row[]): string {
  const shown = [
    ...rows.filter(({ fault }) => !fault.includes('behind byte')),
    ...failed.filter(({ fault }) => fault.includes('behind byte')),
  ];
  const lines = shown.map(({ wire, fault, form, status, ends, booked, wrong }) =>
    [
      wire.padEnd(10),
      form.padEnd(7),
      fault.padEnd(58),
      String(status ?? '-').padEnd(4),
      ends.padEnd(6),
      booked.padEnd(17),
      wrong.join('; ') || 'as it must',
    ].join(' '),
  );
  return [...lines, `${rows.length} requests, ${failed.length} came to something else than they must`].join('\n');
}
