import net from 'node:net';
import type { RunId } from '@fluidbox/contracts';

/** A runner's permission call on a bare socket: many thousands of them fit into one process. */
export interface ParkedCall {
  readonly runId: RunId;
  readonly toolCallId: string;
  /** The connection is over. */
  readonly ended: boolean;
  /** The headers came: the gate has said that a person must decide. */
  readonly parked: Promise<void>;
  /** Rejects when the connection was cut. */
  readonly answered: Promise<{ readonly body: string; readonly at: number }>;
  leave(): void;
}

export interface ParkedQuestion {
  readonly port: number;
  readonly token: string;
  readonly runId: RunId;
  readonly toolCallId: string;
}

/** No two are the same call, or the guard against repetition would end the run. */
export const commandOf = (toolCallId: string): string => `git push origin ${toolCallId}`;

export function openParkedCall({ port, token, runId, toolCallId }: ParkedQuestion): ParkedCall {
  const body = JSON.stringify({ tool_call_id: toolCallId, tool: 'Bash', input: { command: commandOf(toolCallId) } });
  const head = [
    `POST /internal/sessions/${runId}/permission HTTP/1.1`,
    'host: 127.0.0.1',
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  const socket = net.connect({ port, host: '127.0.0.1' }, () => socket.write(`${head.join('\r\n')}\r\n\r\n${body}`));
  let text = '';
  let isParked = (): void => undefined;
  const parked = new Promise<void>((resolve) => {
    isParked = resolve;
  });
  const answered = new Promise<{ body: string; at: number }>((resolve, reject) => {
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const answer = /\{"decision":.*\}/.exec(text)?.[0];
      if (answer !== undefined) resolve({ body: answer, at: performance.now() });
      else if (text.includes('\r\n\r\n')) isParked();
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(`${toolCallId} was cut: ${text.slice(0, 300)}`)));
  });
  // Whoever waits for it hears of it; a call that is left does not end the process.
  answered.catch(() => undefined);
  const atOnce = answered.then(({ body: answer }) => Promise.reject(new Error(`${toolCallId} was answered at once: ${answer}`)));
  return {
    runId,
    toolCallId,
    get ended() {
      return socket.readableEnded || socket.destroyed;
    },
    parked: Promise.race([parked, atOnce]),
    answered,
    leave: () => socket.destroy(),
  };
}
