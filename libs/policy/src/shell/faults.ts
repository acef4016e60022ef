import { utf8Bytes } from '@fluidbox/contracts';
import { forEachChild, type ParsedScript, parse, type SyntaxNode } from 'unbash';
import { unsafeArithmetic } from './arithmetic';

/** Sizes, never time, so that a verdict is the same on every machine. 64 KiB of nesting costs the parser 2 s, these caps 20 ms. */
const shellCaps = { bytes: 16 * 1024, openings: 64, nodes: 4096 } as const;

const openings = /\$\(|`|[<>]\(|[({]/g;

/** The parser's tree, or null when it is not worth asking for one; and why nobody can say what the text runs, if so. */
export function parseWithinCaps(source: string): { script: ParsedScript | null; fault: string | null } {
  if (utf8Bytes(source) > shellCaps.bytes) return { script: null, fault: `is longer than ${shellCaps.bytes} bytes` };
  if ((source.match(openings)?.length ?? 0) > shellCaps.openings)
    return { script: null, fault: `opens more than ${shellCaps.openings} groups or substitutions` };
  if (source.includes('\u0000')) return { script: null, fault: 'contains NUL' };
  try {
    const script = parse(source);
    return { script, fault: faultIn(script) ?? unsafeArithmetic(script) };
  } catch (error) {
    return { script: null, fault: `cannot be parsed: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** An error on any node is one of the whole; a substitution that the parser left unread is one, too. */
function faultIn(script: ParsedScript): string | null {
  let nodes = 0;
  let fault: string | null = null;
  const visit = (node: SyntaxNode): void => {
    if (++nodes > shellCaps.nodes) {
      fault ??= `has more than ${shellCaps.nodes} parts`;
      return;
    }
    if (node.type === 'Script' && node.errors !== undefined && node.errors.length > 0)
      fault ??= `is not valid shell: ${node.errors[0]?.message ?? 'syntax error'}`;
    if ((node.type === 'CommandExpansion' || node.type === 'ProcessSubstitution') && node.script === undefined)
      fault ??= 'has a substitution that cannot be read';
    forEachChild(node, visit);
  };
  visit(script);
  return fault;
}
