import { type Command, type ParsedRequestOf, Problem, parseOrProblem, type ReplyOf } from '@fluidbox/contracts';
import type { RequestMeta } from './api';
import { withRequestMeta } from './call-context';
import { encodeProblem, encodeValue, openEnvelope, parseJson } from './envelope';

export type Handler<C extends Command> = (request: ParsedRequestOf<C>, meta: RequestMeta) => Promise<ReplyOf<C>>;

/** The responder's half: parses, asks the handler, checks its reply. Never rejects: a bug becomes the problem `internal` and is told to `onBug`. */
export async function answer<C extends Command>(
  command: C,
  handler: Handler<C>,
  text: string,
  meta: RequestMeta,
  onBug: (error: unknown) => void,
): Promise<string> {
  try {
    const request = parseOrProblem(command.request, parseJson(text)) as ParsedRequestOf<C>;
    const reply = await withRequestMeta(meta, () => handler(request, meta));
    const checked = command.reply.safeParse(reply);
    if (!checked.success) throw new Error(`the handler of ${command.subject} answered against its schema`, { cause: checked.error });
    return encodeValue(reply);
  } catch (error) {
    if (error instanceof Problem) return encodeProblem(error);
    onBug(error);
    return encodeProblem(new Problem('internal', `${command.subject} failed`));
  }
}

/** The requester's half: refuses a request that does not fit before it is sent, so that the caller learns which field is wrong. */
export function encodeRequest(command: Command, request: unknown): string {
  parseOrProblem(command.request, request);
  return JSON.stringify(request);
}

export function decodeReply<C extends Command>(command: C, text: string): ReplyOf<C> {
  const reply = command.reply.safeParse(openEnvelope(text, command.subject));
  if (!reply.success) throw new Problem('internal', `the reply of ${command.subject} does not fit its schema`, { cause: reply.error });
  return reply.data as ReplyOf<C>;
}
