export interface ServerSentEvent {
  /** `message` where the stream names none. */
  readonly event: string;
  readonly data: string;
}

/** The events of a stream that have data; comments and retry hints are passed over. */
export async function* readServerSentEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder();
  let buffer = '';
  let data: string[] = [];
  let event = 'message';
  for await (const chunk of body) {
    buffer += decoder.decode(chunk, { stream: true });
    for (let end = buffer.indexOf('\n'); end >= 0; end = buffer.indexOf('\n')) {
      const line = buffer.slice(0, end).replace(/\r$/, '');
      buffer = buffer.slice(end + 1);
      if (line.startsWith('data:')) data.push(fieldOf(line, 'data:'));
      if (line.startsWith('event:')) event = fieldOf(line, 'event:');
      if (line !== '') continue;
      if (data.length > 0) yield { event, data: data.join('\n') };
      data = [];
      event = 'message';
    }
  }
}

const fieldOf = (line: string, name: string): string => line.slice(name.length).replace(/^ /, '');
