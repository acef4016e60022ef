import type { ChildProcess } from 'node:child_process';
import { Message } from './protocol';

export interface AppServerHandlers {
  /** Answers a request of the program. A rejection becomes an error, which the program reads as a refusal. */
  readonly onRequest: (method: string, params: unknown) => Promise<unknown>;
  readonly onNotification: (method: string, params: unknown) => void;
  readonly log: (message: string) => void;
}

export interface AppServer {
  call(method: string, params: unknown): Promise<unknown>;
  notify(method: string): void;
  /** Settles when the program has gone, with its exit code. */
  readonly ended: Promise<number | null>;
  kill(): void;
}

/** A patch of many files is one line; what is longer is no message. */
const lineCharsMax = 64 * 1024 * 1024;

/** JSON-RPC in lines over the program's stdio, in both directions. */
export function appServer(child: ChildProcess, { onRequest, onNotification, log }: AppServerHandlers): AppServer {
  const { stdin, stdout, stderr } = child;
  if (stdin === null || stdout === null || stderr === null) throw new Error('the agent program was started without pipes');
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  let calls = 0;

  const send = (message: object): void => {
    if (stdin.writable) stdin.write(`${JSON.stringify(message)}\n`);
  };
  const receive = (line: string): void => {
    const message = readLine(line);
    if (message === undefined) {
      log(`[codex] not a message: ${line.slice(0, 300)}`);
      return;
    }
    const { id, method, params } = message;
    if (method !== undefined && id !== undefined) {
      void onRequest(method, params).then(
        (result) => send({ id, result }),
        (error: unknown) => send({ id, error: { code: -32601, message: error instanceof Error ? error.message : 'refused' } }),
      );
    } else if (method !== undefined) onNotification(method, params);
    else settle(message);
  };
  const settle = ({ id, error, result }: Message): void => {
    const call = typeof id === 'number' ? waiting.get(id) : undefined;
    if (call === undefined || typeof id !== 'number') return;
    waiting.delete(id);
    if (error === undefined) call.resolve(result);
    else call.reject(new Error(error.message));
  };

  // A program that has gone leaves a closed pipe; its end is noticed by `ended`.
  stdin.on('error', () => stdin.destroy());
  stderr.on('data', (chunk: Buffer) => log(`[codex] ${plain(chunk.toString('utf8'))}`));
  readLines(stdout, receive, () => child.kill('SIGKILL'));
  const ended = new Promise<number | null>((resolve) => {
    child.once('error', (error) => {
      log(`[codex] ${error.message}`);
      resolve(null);
    });
    child.once('close', resolve);
  });
  void ended.then(() => {
    for (const { reject } of waiting.values()) reject(new Error('the agent program has ended'));
  });
  return {
    call: (method, params) =>
      new Promise((resolve, reject) => {
        const id = ++calls;
        waiting.set(id, { resolve, reject });
        send({ id, method, params });
      }),
    notify: (method) => send({ method }),
    ended,
    kill: () => void child.kill('SIGKILL'),
  };
}

function readLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void, onTooLong: () => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    rest += text;
    // Only what came is looked at: a line may come in thousands of pieces.
    if (!text.includes('\n')) return rest.length > lineCharsMax ? onTooLong() : undefined;
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') onLine(line);
  });
}

function readLine(line: string): Message | undefined {
  try {
    return Message.parse(JSON.parse(line));
  } catch {
    return undefined;
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the colours of the program's log
const plain = (text: string): string => text.replace(/\u001b\[[0-9;]*m/g, '').trimEnd();
