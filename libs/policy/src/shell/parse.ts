import type { ParsedScript } from 'unbash';
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
  const chain = unknown === null && script !== null && isAndChain(script) ? topLevel(builder) : undefined;
  return {
    text: joinContinuations(source),
    commands: builder.commands,
    pipelines: builder.pipelines,
    ...(chain === undefined ? {} : { chain }),
    unknown: unknown === null ? null : `the command ${unknown}`,
  };
}

function isAndChain({ commands: [statement, ...more] }: ParsedScript): boolean {
  if (statement === undefined || more.length > 0 || statement.background === true) return false;
  const { command } = statement;
  if (command.type === 'Command') return true;
  return (
    command.type === 'AndOr' &&
    command.operators.every((operator) => operator === '&&') &&
    command.commands.every(({ type }) => type === 'Command')
  );
}

/** What stands in substitutions and wrappers has a command around it. */
const topLevel = ({ commands }: TreeBuilder): number[] => commands.flatMap(({ within }, index) => (within === null ? [index] : []));
