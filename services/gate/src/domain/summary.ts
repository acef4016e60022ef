/** One line that says what a call wants to do, for lists and for the approver; the input itself stands beside it. */
export const summaryCharsMax = 200;

const telling = ['command', 'file_path', 'path', 'notebook_path', 'pattern', 'url', 'query', 'description', 'prompt'] as const;

export function summaryOf(tool: string, input: Readonly<Record<string, unknown>>): string {
  const field = telling.find((name) => typeof input[name] === 'string' && input[name] !== '');
  const text = field === undefined ? tool : `${tool}: ${String(input[field]).replaceAll(/\s+/g, ' ').trim()}`;
  const chars = [...text];
  return chars.length > summaryCharsMax ? `${chars.slice(0, summaryCharsMax - 1).join('')}…` : text;
}
