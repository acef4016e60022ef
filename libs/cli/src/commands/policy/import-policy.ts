import { type Imported, importClaude, importCodex, importOriginal } from '@fluidbox/policy';
import { exitCodes } from '../../exit-codes';
import { CommandFailure } from '../../failure';
import { readNamedText, writeNamedFile } from '../../named-file';
import type { Output } from '../../output';
import { oneLine } from '../../paint';
import { findings } from './policy-file';

export const importFormats = ['claude', 'codex', 'original'] as const;
export interface ImportOptions {
  readonly format: (typeof importFormats)[number];
  readonly name: string;
  readonly file: string;
  /** `config.toml` of Codex. */
  readonly config?: string;
  readonly out?: string;
}

/** Writes a policy out of somebody else's rules, with tests and notes. Publishes nothing. Ends with 1 when a refusal could not be carried over. */
export function convertPolicy(options: ImportOptions, output: Output): number {
  const imported = importedFrom(options);
  if (!imported.ok) throw new CommandFailure(`${options.file}: ${imported.problem}`, findings);
  const { source, notes } = imported.policy;
  if (options.out !== undefined) writeNamedFile(options.out, '--out', source);
  if (output.json) output.out(JSON.stringify({ ...(options.out === undefined ? { source } : { file: options.out }), notes }));
  else {
    if (options.out === undefined) output.out(source.trimEnd());
    const colour = { stricter: output.paint.green, dropped: output.paint.yellow, wider: output.paint.red };
    for (const { entry, outcome, why } of notes)
      output.err(`${colour[outcome](outcome.padEnd(8))} ${oneLine(entry, 80)}: ${oneLine(why, 160)}`);
    if (options.out !== undefined) output.err(`written to ${options.out}; read it, run its tests, then publish it: policy publish`);
  }
  return notes.some(({ outcome }) => outcome === 'wider') ? findings : exitCodes.ok;
}

export function importedFrom({ format, name, file, config }: ImportOptions): Imported {
  const text = readNamedText(file, '--file');
  switch (format) {
    case 'claude':
      return importClaude(jsonOf(text, file), name);
    case 'codex':
      return importCodex({ rules: [text], ...(config === undefined ? {} : { config: readNamedText(config, '--config') }) }, name);
    case 'original':
      return importOriginal(text, name);
  }
}

function jsonOf(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CommandFailure(
      `${file} is not JSON, as settings of Claude Code are: ${cause instanceof Error ? cause.message : String(cause)}`,
      findings,
    );
  }
}
