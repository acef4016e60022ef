import type http from 'node:http';
import { runFold } from '@fluidbox/run-stream';
import { providerKey, type Respond, startFacade, startProvider } from './facade-fixture';
import type { Wire } from './wires';

/** How the books of one request were closed. */
export type Booking = 'usage' | 'estimated' | 'pessimistic' | 'not_sent' | 'refused_upstream';

/** What the runner must see, and what must be booked. */
export interface Expected {
  /** Null: there is nobody to see it, or no answer at all. */
  readonly status: number | null;
  readonly ends: 'whole' | 'cut';
  readonly booked: Booking;
}

export interface Fault {
  readonly name: string;
  /** Streamed, in one piece, or both. */
  readonly of: readonly ('stream' | 'piece')[];
  readonly expected: Expected | ((streamed: boolean) => Expected);
  respond(wire: Wire, streamed: boolean): Respond;
  /** It holds the connection and sends nothing more. */
  readonly fallsSilent?: true;
  /** The runner hangs up once it has seen this many bytes of the answer (0: before there is one). */
  readonly hangsUpAt?: number;
  /** What the runner must receive byte by byte, where the answer comes whole. */
  receives?(wire: Wire, streamed: boolean): Buffer;
}

const both = ['stream', 'piece'] as const;
const stream = { 'content-type': 'text/event-stream' };
const json = { 'content-type': 'application/json' };
/** How long the facade waits for one that falls silent: what that one does send comes in time on a busy machine, too. */
const silenceMs = 1_500;

const status = (code: number, seen = code, headers: Record<string, string> = {}): Fault => ({
  name: `the provider answers ${code}`,
  of: both,
  expected: { status: seen, ends: 'whole', booked: 'refused_upstream' },
  respond: () => (_request, _body, response) =>
    void response.writeHead(code, { ...json, ...headers }).end(`{"error":{"message":"bad key ${providerKey}"}}`),
});

const answer = (wire: Wire, streamed: boolean, text: string): Buffer =>
  Buffer.from(streamed ? wire.opening(text) + wire.ending() : JSON.stringify(wire.whole(text)));
const send = (response: http.ServerResponse, streamed: boolean): http.ServerResponse => response.writeHead(200, streamed ? stream : json);

/** Bytes that are no UTF-8, in the middle of a text. */
const broken = (wire: Wire, streamed: boolean): Buffer => {
  const bytes = answer(wire, streamed, 'a MARK b');
  bytes.fill(0xff, bytes.indexOf('MARK'), bytes.indexOf('MARK') + 4);
  return bytes;
};
const large = 'x'.repeat(20 * 1024 * 1024);

export const faults: readonly Fault[] = [
  {
    name: 'none',
    of: both,
    expected: { status: 200, ends: 'whole', booked: 'usage' },
    respond: (wire, streamed) => (_request, _body, response) => void send(response, streamed).end(answer(wire, streamed, '北京')),
    receives: (wire, streamed) => answer(wire, streamed, '北京'),
  },
  status(400),
  // The runner would take its own token for bad.
  status(401, 502),
  status(403),
  status(429, 429, { 'retry-after': '9' }),
  status(500),
  status(529),
  {
    name: 'the provider never answers',
    fallsSilent: true,
    of: both,
    expected: { status: 502, ends: 'whole', booked: 'pessimistic' },
    respond: () => () => undefined,
  },
  {
    name: 'the provider closes before it answers',
    of: both,
    expected: { status: 502, ends: 'whole', booked: 'pessimistic' },
    respond: () => (_request, _body, response) => void response.destroy(),
  },
  {
    name: 'the provider falls silent in the middle',
    fallsSilent: true,
    of: both,
    expected: (streamed) =>
      streamed ? { status: 200, ends: 'cut', booked: 'estimated' } : { status: null, ends: 'cut', booked: 'pessimistic' },
    respond: (wire, streamed) => (_request, _body, response) =>
      void send(response, streamed).write(
        answer(wire, streamed, 'some words').subarray(0, streamed ? wire.opening('some words').length : 40),
      ),
  },
  {
    name: 'the provider breaks off in the middle',
    of: both,
    expected: (streamed) =>
      streamed ? { status: 200, ends: 'cut', booked: 'estimated' } : { status: null, ends: 'cut', booked: 'pessimistic' },
    respond: (wire, streamed) => (_request, _body, response) =>
      void send(response, streamed).write(answer(wire, streamed, 'some words').subarray(0, 90), () => response.destroy()),
  },
  {
    name: 'the answer ends without its last event',
    of: ['stream'],
    expected: { status: 200, ends: 'cut', booked: 'estimated' },
    respond: (wire) => (_request, _body, response) => void send(response, true).end(wire.opening('some words')),
  },
  {
    name: 'the provider gives up in the middle, in words',
    of: ['stream'],
    expected: { status: 200, ends: 'whole', booked: 'estimated' },
    respond: (wire) => (_request, _body, response) => void send(response, true).end(wire.opening('some words') + wire.error()),
    receives: (wire) => Buffer.from(wire.opening('some words') + wire.error()),
  },
  {
    name: 'the answer reports no usage',
    of: both,
    expected: (streamed) =>
      streamed ? { status: 200, ends: 'whole', booked: 'estimated' } : { status: 502, ends: 'whole', booked: 'pessimistic' },
    respond: (wire, streamed) => (_request, _body, response) => {
      const { usage: _usage, ...uncounted } = wire.whole('x');
      send(response, streamed).end(streamed ? wire.opening('some words') + wire.endingUncounted() : JSON.stringify(uncounted));
    },
  },
  {
    name: 'the answer is no JSON',
    of: both,
    expected: (streamed) =>
      streamed ? { status: 200, ends: 'cut', booked: 'estimated' } : { status: 502, ends: 'whole', booked: 'pessimistic' },
    respond: (wire, streamed) => (_request, _body, response) =>
      void send(response, streamed).end(streamed ? `${wire.opening('x')}data: {"type":\n\n${wire.ending()}` : '{"usage":'),
  },
  {
    name: 'the answer is of another type',
    of: both,
    expected: { status: 502, ends: 'whole', booked: 'pessimistic' },
    respond: () => (_request, _body, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>hi'),
  },
  {
    name: 'the answer is compressed',
    of: both,
    expected: { status: 502, ends: 'whole', booked: 'pessimistic' },
    respond: (_wire, streamed) => (_request, _body, response) =>
      void response.writeHead(200, { ...(streamed ? stream : json), 'content-encoding': 'gzip' }).end('xx'),
  },
  {
    name: 'a line without end',
    of: ['stream'],
    expected: { status: 200, ends: 'cut', booked: 'estimated' },
    respond: (wire) => (_request, _body, response) =>
      void send(response, true).end(`${wire.opening('x')}data: "${large.slice(0, 9 * 1024 * 1024)}`),
  },
  {
    name: 'bytes that are no UTF-8',
    of: both,
    expected: { status: 200, ends: 'whole', booked: 'usage' },
    respond: (wire, streamed) => (_request, _body, response) => void send(response, streamed).end(broken(wire, streamed)),
    receives: broken,
  },
  {
    name: 'an answer of 20 MiB',
    of: both,
    expected: { status: 200, ends: 'whole', booked: 'usage' },
    respond: (wire, streamed) => (_request, _body, response) => void send(response, streamed).end(answer(wire, streamed, large)),
    receives: (wire, streamed) => answer(wire, streamed, large),
  },
  {
    name: 'the runner hangs up before there is an answer',
    of: both,
    expected: (streamed) => ({ status: null, ends: 'cut', booked: streamed ? 'estimated' : 'pessimistic' }),
    respond: () => () => undefined,
    hangsUpAt: 0,
  },
  {
    name: 'the runner hangs up in the middle',
    of: ['stream'],
    expected: { status: 200, ends: 'cut', booked: 'estimated' },
    respond: (wire) => (_request, _body, response) => void send(response, true).write(wire.opening('some words of an answer')),
    hangsUpAt: 100,
  },
  {
    name: 'the key of the provider in a header and in the answer',
    of: both,
    expected: (streamed) =>
      streamed ? { status: 200, ends: 'cut', booked: 'estimated' } : { status: 200, ends: 'whole', booked: 'usage' },
    respond: (wire, streamed) => (request, _body, response) => {
      const echoed = `${String(request.headers['x-api-key'] ?? request.headers.authorization)}`;
      const headers = { 'request-id': echoed, 'x-request-id': echoed, 'x-ratelimit-key': echoed, 'set-cookie': echoed };
      response.writeHead(200, { ...(streamed ? stream : json), ...headers }).end(answer(wire, streamed, `your key is ${providerKey}`));
    },
  },
];

/** The provider breaks off behind each byte of a streamed answer in turn. It is booked by its usage from the end of the line that reports it. */
export function brokenOffAt(wire: Wire): { readonly bytes: number; fault(at: number): Fault } {
  const whole = answer(wire, true, '北京');
  const counted = whole.indexOf('\n', whole.indexOf('"output_tokens":400')) + 1;
  return {
    bytes: whole.length,
    fault: (at) => ({
      name: `the provider breaks off behind byte ${at} of ${whole.length}`,
      of: ['stream'],
      expected: at >= counted ? { status: 200, ends: 'cut', booked: 'usage' } : { status: 200, ends: 'cut', booked: 'estimated' },
      respond: () => (_request, _body, response) => {
        send(response, true).flushHeaders();
        if (at === 0) setImmediate(() => response.destroy());
        else response.write(whole.subarray(0, at), () => setImmediate(() => response.destroy()));
      },
    }),
  };
}

export interface FaultOutcome extends Expected {
  /** What did not hold; empty when all did. */
  readonly wrong: readonly string[];
}

/** One request against a faulty provider, on a facade of its own, and whether it came to what it must. */
export async function runFault(wire: Wire, fault: Fault, streamed: boolean): Promise<FaultOutcome> {
  const provider = await startProvider();
  provider.answers(fault.respond(wire, streamed));
  const timeouts = fault.fallsSilent === true ? { firstByteMs: silenceMs, idleMs: silenceMs } : {};
  const facade = await startFacade(provider.url, { spec: wire.spec(), timeouts });
  try {
    const seen = await ask(facade, provider, wire, fault, streamed);
    if (fault.hangsUpAt !== undefined) await provider.seen[0]?.closed;
    await facade.idle();
    const events = await facade.events();
    const closings = events.filter(({ type }) => type === 'budget.settled' || type === 'budget.released');
    const { state } = await facade.ports.ledger.state(runFold, facade.stream, { fresh: true });
    const booked = closings[0]?.data.basis ?? closings[0]?.data.cause ?? 'nothing';
    const expected = typeof fault.expected === 'function' ? fault.expected(streamed) : fault.expected;
    const wrong: string[] = [];
    const must = (holds: boolean, what: string): void => void (holds || wrong.push(what));
    must(seen.status === expected.status, `the runner saw status ${seen.status}, not ${expected.status}`);
    must(seen.ends === expected.ends, `the answer was ${seen.ends}, not ${expected.ends}`);
    must(booked === expected.booked, `booked ${String(booked)}, not ${expected.booked}`);
    must(closings.length === 1, `${closings.length} closings of one reservation`);
    must(state.reservations.size === 0, 'a reservation is open');
    must(
      booked !== 'usage' || closings[0]?.data.tokens === wire.tokens,
      `booked ${String(closings[0]?.data.tokens)} tokens, not ${wire.tokens}`,
    );
    must(booked !== 'estimated' || Number(closings[0]?.data.tokens) > 0, 'an estimate of nothing');
    const receives = expected.ends === 'whole' ? fault.receives?.(wire, streamed) : undefined;
    must(receives === undefined || receives.equals(seen.bytes), 'the bytes were changed');
    const everything = [seen.bytes.toString(), JSON.stringify(seen.headers), JSON.stringify(events), ...facade.logged, ...facade.problems];
    must(!everything.some((text) => text.includes(providerKey)), 'the key of the provider was seen');
    return { status: seen.status, ends: seen.ends, booked: booked as Booking, wrong };
  } finally {
    await facade.stop();
    await provider.close();
  }
}

interface Seen {
  readonly status: number | null;
  readonly ends: 'whole' | 'cut';
  readonly headers: Record<string, string>;
  readonly bytes: Buffer;
}

async function ask(
  facade: Awaited<ReturnType<typeof startFacade>>,
  provider: Awaited<ReturnType<typeof startProvider>>,
  wire: Wire,
  { hangsUpAt }: Fault,
  streamed: boolean,
): Promise<Seen> {
  const hangUp = new AbortController();
  const answered = facade.post(wire.ask(streamed), { path: wire.path, signal: hangUp.signal });
  answered.catch(() => undefined);
  if (hangsUpAt === 0) {
    while (provider.seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    hangUp.abort();
  }
  const chunks: Buffer[] = [];
  let head: { status: number; headers: Record<string, string> } | undefined;
  const seen = (ends: Seen['ends']): Seen => ({
    status: head?.status ?? null,
    headers: head?.headers ?? {},
    ends,
    bytes: Buffer.concat(chunks),
  });
  try {
    const response = await answered;
    head = { status: response.status, headers: Object.fromEntries(response.headers) };
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      chunks.push(Buffer.from(chunk));
      if (hangsUpAt !== undefined && Buffer.concat(chunks).length >= hangsUpAt) hangUp.abort();
    }
    return seen('whole');
  } catch {
    return seen('cut');
  }
}
