import { z } from 'zod';

const charsMax = 4_000;

const ShellOutput = z.looseObject({ stdout: z.string(), stderr: z.string() });
const FileOutput = z.looseObject({ file: z.looseObject({ content: z.string() }) });

/** What a person reads in the timeline: the text of an output, not the program's own envelope around it. */
export function summaryOf(output: unknown): string {
  return textOf(output).slice(0, charsMax);
}

function textOf(output: unknown): string {
  if (typeof output === 'string') return output;
  const shell = ShellOutput.safeParse(output);
  if (shell.success) return [shell.data.stdout, shell.data.stderr].filter((text) => text !== '').join('\n');
  const file = FileOutput.safeParse(output);
  return file.success ? file.data.file.content : (JSON.stringify(output) ?? '');
}
