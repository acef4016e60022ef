import { z } from 'zod';

const ProviderError = z.looseObject({ error: z.looseObject({ message: z.string().min(1) }) });

/** Agent programs repeat an error body that they do not know as it came: `API Error: 400 {"type":"error",…}`. People read the message in it. */
export function providerSentence(text: string): string {
  const at = text.indexOf('{');
  if (at === -1) return text;
  // Some add where they asked, which is an address of ours inside the sandbox.
  const body = text.slice(at, text.lastIndexOf('}') + 1);
  try {
    return `${text.slice(0, at)}${ProviderError.parse(JSON.parse(body)).error.message}`;
  } catch {
    // Not such a body: the text is all there is.
    return text;
  }
}
