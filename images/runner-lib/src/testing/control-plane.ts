import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import {
  EventsRequest,
  type PermissionAnswer,
  PermissionRequest,
  type ReportedEvent,
  ResultRequest,
  wrongAudienceBody,
} from '@fluidbox/contracts';

export type AskedCall = PermissionRequest;

export interface ControlPlaneOptions {
  /** Folder that becomes /run/gw. */
  readonly gatewayDir: string;
  readonly ownerUid: number;
  readonly decide: (call: AskedCall) => PermissionAnswer | Promise<PermissionAnswer>;
  /** Base URL of the model behind the llm door. */
  readonly modelUrl?: string;
  /** The last word on any request of the runner plane, to play a broken or hostile server. Returns true when it has answered. */
  readonly interfere?: (path: string, response: http.ServerResponse, control: ControlPlane) => boolean;
}

export interface ControlPlane {
  readonly sessionId: string;
  readonly tokens: { readonly tool: string; readonly control: string; readonly llm: string };
  readonly asked: AskedCall[];
  readonly events: ReportedEvent[];
  readonly results: ResultRequest[];
  /** Requests with the token of another audience. */
  readonly refused: string[];
  beats: number;
  quiesce: boolean;
  close(): Promise<void>;
}

/** The runner plane in small, on the two unix sockets of the sandbox door: one process, no memory beyond the test. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const sessionId = randomUUID();
  const token = (audience: string): string => `${audience}-${randomUUID()}`;
  const control: ControlPlane = {
    sessionId,
    tokens: { tool: token('tool'), control: token('control'), llm: token('llm') },
    asked: [],
    events: [],
    results: [],
    refused: [],
    beats: 0,
    quiesce: false,
    close: async () => {
      await Promise.all(
        servers.map(async (server) => {
          const closed = once(server, 'close');
          server.close();
          server.closeAllConnections();
          await closed;
        }),
      );
    },
  };
  const serve = async (
    socket: string,
    handle: (request: http.IncomingMessage, response: http.ServerResponse) => Promise<void>,
  ): Promise<http.Server> => {
    const server = http.createServer((request, response) => {
      handle(request, response).catch(() => response.destroy());
    });
    server.requestTimeout = 0;
    server.keepAliveTimeout = 0;
    server.listen(`${options.gatewayDir}/${socket}`);
    await once(server, 'listening');
    fs.chownSync(`${options.gatewayDir}/${socket}`, options.ownerUid, options.ownerUid);
    return server;
  };
  const servers = [
    await serve('control.sock', (request, response) => answerControl(options, control, request, response)),
    await serve('llm.sock', (request, response) => answerModel(options, control, request, response)),
  ];
  return control;
}

const bearer = (request: http.IncomingMessage): string => request.headers.authorization?.replace(/^Bearer /, '') ?? '';

function refuseAudience(control: ControlPlane, request: http.IncomingMessage, response: http.ServerResponse): void {
  control.refused.push(request.url ?? '');
  request.resume();
  response.writeHead(403, { 'content-type': 'application/json' }).end(wrongAudienceBody);
}

async function answerControl(
  options: ControlPlaneOptions,
  control: ControlPlane,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<void> {
  const path = request.url ?? '';
  const call = path.replace(`/internal/sessions/${control.sessionId}/`, '');
  const audience = call === 'permission' ? 'tool' : 'control';
  if (bearer(request) !== control.tokens[audience]) return refuseAudience(control, request, response);
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  const body: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
  if (options.interfere?.(call, response, control)) return;
  const answer = (value: unknown, status = 200): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  };
  switch (call) {
    case 'permission': {
      const asked = PermissionRequest.parse(body);
      control.asked.push(asked);
      return answer(await options.decide(asked));
    }
    case 'events':
      control.events.push(EventsRequest.parse(body).body);
      return answer({ seq: control.events.length });
    case 'heartbeat':
      control.beats += 1;
      return answer({ ok: true, action: control.quiesce ? 'quiesce' : null });
    case '/internal/token/renew':
      return answer({ renewed: true, ttl_secs: 900 });
    case 'result':
      control.results.push(ResultRequest.parse(body));
      return answer({ ok: true });
    default:
      return answer({ error: 'not found' }, 404);
  }
}

async function answerModel(
  options: ControlPlaneOptions,
  control: ControlPlane,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<void> {
  if (bearer(request) !== control.tokens.llm) return refuseAudience(control, request, response);
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  if (options.interfere?.('llm', response, control)) return;
  const path = (request.url ?? '').replace(/^\/internal\/llm/, '');
  const body = Buffer.concat(chunks);
  const { 'transfer-encoding': _chunked, ...headers } = request.headers;
  const upstream = http.request(`${options.modelUrl}${path}`, {
    method: request.method,
    // A pool would be that of all test files of this process, with connections of servers that have ended.
    agent: false,
    headers: { ...headers, 'x-api-key': 'upstream', 'content-length': body.length },
  });
  upstream.on('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  upstream.on('error', (error) => {
    if (response.headersSent) response.destroy();
    else
      response
        .writeHead(502, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: `the model of this test: ${error.message}` }));
  });
  upstream.end(body);
}
