import { forEachChild, type ParsedScript, type SyntaxNode, type Word } from 'unbash';

/**
 * Arithmetic evaluates what a variable *contains*: with `x='a[$(rm f)]'`, `$((x))` runs rm, and so do subscripts, slices, `[[ x -eq 1 ]]`,
 * `${!x}` and `${x@P}`. So a variable may stand there only if every value this text gives it is plainly a number.
 */
const numeric = /^[-+]?\d*$/;
const identifiers = /[A-Za-z_][A-Za-z0-9_]*/g;
const numericTests: ReadonlySet<string> = new Set(['-eq', '-ne', '-lt', '-le', '-gt', '-ge']);

const isNumber = (word: Word): boolean => {
  const parts = word.parts ?? [];
  return parts.length === 0 ? numeric.test(word.value) : parts.length === 1 && parts[0]?.type === 'ArithmeticExpansion';
};

export function unsafeArithmetic(script: ParsedScript): string | null {
  const numbers = new Map<string, boolean>();
  const used = new Set<string>();
  let fault: string | null = null;
  const assigned = (name: string, isSafe: boolean): void => {
    numbers.set(name, (numbers.get(name) ?? true) && isSafe);
  };
  const useText = (text: string): void => {
    for (const [name] of text.replaceAll(/\b(0[xX][0-9a-fA-F]+|\d+#?\w*)/g, '0').matchAll(identifiers)) used.add(name);
  };
  const useWord = (word: Word): void => {
    const parts = word.parts ?? [];
    if (parts.length === 0) useText(word.value);
    for (const part of parts) {
      if (part.type === 'ArithmeticExpansion') continue;
      if (part.type === 'SimpleExpansion') useText(part.text);
      else if (part.type === 'ParameterExpansion' && part.operation === undefined && part.prefix === undefined) useText(part.parameter);
      else if (part.type === 'ParameterExpansion' && part.prefix === '#') continue;
      else if (part.type === 'DoubleQuoted' && part.parts.every((inner) => inner.type === 'Literal' || inner.type === 'SimpleExpansion'))
        useText(part.text);
      else if (part.type === 'Literal' || part.type === 'SingleQuoted' || part.type === 'AnsiCQuoted') useText(part.value);
      else fault ??= 'evaluates text as arithmetic that only the running shell knows';
    }
  };
  const subscript = (word: Word | undefined): void => {
    if (word !== undefined && word.value !== '@' && word.value !== '*') useWord(word);
  };
  const visit = (node: SyntaxNode): void => {
    switch (node.type) {
      case 'Assignment':
        subscript(node.index);
        assigned(node.name, node.value.type === 'Word' && node.append !== true && isNumber(node.value));
        break;
      case 'For':
        assigned(node.name.value, node.wordlist?.every((word) => isNumber(word) || /^\{\d+\.\.\d+\}$/.test(word.text)) === true);
        break;
      case 'Select':
        assigned(node.name.value, false);
        break;
      case 'ArithmeticWord':
        if ((node.parts ?? []).length === 0) useText(node.value);
        else useWord({ type: 'Word', text: node.value, value: node.value, pos: 0, end: 0, parts: node.parts });
        break;
      case 'TestBinary':
        if (numericTests.has(node.operator)) {
          useWord(node.left);
          useWord(node.right);
        }
        break;
      case 'TestUnary':
        if (node.operator === '-v' || node.operator === '-R') fault ??= 'tests a variable by a computed name';
        break;
      case 'ParameterExpansion':
        subscript(node.index);
        if (node.prefix === '!' && node.operation?.type !== 'Names') fault ??= 'expands a variable by a computed name';
        if (node.operation?.type === 'Transform' && node.text.includes('@P')) fault ??= 'expands the content of a variable again';
        if (node.operation?.type === 'Slice') {
          useWord(node.operation.offset);
          if (node.operation.length !== undefined) useWord(node.operation.length);
        }
        if (node.operation?.type === 'Default' && node.operation.operator.endsWith('='))
          assigned(node.parameter, isNumber(node.operation.operand));
        if (node.operation?.type === 'Unknown') fault ??= 'has an expansion that cannot be read';
        break;
      case 'ArithmeticExpansion':
        if (node.expression === undefined && !/^\$(\(\(|\[)\s*(\)\)|\])$/.test(node.text)) fault ??= 'has arithmetic that cannot be read';
        break;
      case 'ArithmeticCommand':
        if (node.expression === undefined && node.body.trim() !== '') fault ??= 'has arithmetic that cannot be read';
        break;
      case 'Command':
        if (node.name?.value === 'let') for (const arg of node.args) useText(arg.text);
        // Builtins that set variables by name may give any of them any text.
        if (['read', 'mapfile', 'readarray', 'printf', 'getopts', 'let', 'eval', 'source', '.'].includes(node.name?.value ?? ''))
          for (const arg of node.args) if (arg.type === 'Word') for (const [name] of arg.value.matchAll(identifiers)) assigned(name, false);
        break;
      default:
        break;
    }
    forEachChild(node, visit);
  };
  visit(script);
  if (fault !== null) return fault;
  // A name that this text never sets comes from the environment; only our own loops and sums are known to be numbers.
  for (const name of used) if (numbers.get(name) === false) return `evaluates $${name} as arithmetic, and its value need not be a number`;
  return null;
}
