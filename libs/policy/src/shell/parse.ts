import { parseWithinCaps } from './faults';
import type { ShellTree } from './tree';
import { TreeBuilder } from './tree-builder';

const joinContinuations = (text: string): string => text.replaceAll('\\\n', '');

/** The commands that bash would run for this text. Never throws: what cannot be read is `unknown`. */
export function parseShell(source: string, cwd: string): ShellTree {
  const { script, fault } = parseWithinCaps(source);
  const builder = new TreeBuilder();
  // A faulty tree is still walked, so that a rule which refuses can see what is in it.
  if (script !== null) builder.addScript(script, [cwd]);
  const unknown = fault ?? builder.overflow;
  return {
    text: joinContinuations(source),
    commands: builder.commands,
    pipelines: builder.pipelines,
    unknown: unknown === null ? null : `the command ${unknown}`,
  };
}
