import ts from 'typescript';

export interface Mutant {
  readonly file: string;
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  /** The innermost function around it by its place; null at the top of a file, which runs when the file is loaded. */
  readonly within: number | null;
}
export interface FunctionBody {
  /** Where a counter of calls can stand. */
  readonly start: number;
  readonly end: number;
  readonly isBlock: boolean;
}

const operators: Readonly<Partial<Record<ts.SyntaxKind, string>>> = {
  [ts.SyntaxKind.EqualsEqualsEqualsToken]: '!==',
  [ts.SyntaxKind.ExclamationEqualsEqualsToken]: '===',
  [ts.SyntaxKind.LessThanToken]: '<=',
  [ts.SyntaxKind.LessThanEqualsToken]: '<',
  [ts.SyntaxKind.GreaterThanToken]: '>=',
  [ts.SyntaxKind.GreaterThanEqualsToken]: '>',
  [ts.SyntaxKind.AmpersandAmpersandToken]: '||',
  [ts.SyntaxKind.BarBarToken]: '&&',
  [ts.SyntaxKind.QuestionQuestionToken]: '&&',
  [ts.SyntaxKind.PlusToken]: '-',
  [ts.SyntaxKind.MinusToken]: '+',
  [ts.SyntaxKind.AsteriskToken]: '/',
  [ts.SyntaxKind.SlashToken]: '*',
  [ts.SyntaxKind.AmpersandToken]: '|',
  [ts.SyntaxKind.BarToken]: '&',
  [ts.SyntaxKind.PlusEqualsToken]: '-=',
  [ts.SyntaxKind.MinusEqualsToken]: '+=',
};
const methods: Readonly<Record<string, string>> = {
  some: 'every',
  every: 'some',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
  min: 'max',
  max: 'min',
};
/** Left out, what they were called on stays. */
const dropped: ReadonlySet<string> = new Set(['filter', 'slice', 'trim', 'sort', 'reverse', 'toLowerCase', 'replaceAll', 'replace']);

/**
 * Operators, conditions, booleans, lists, methods, bodies and steps; never texts, which are words for people or names in tables that the
 * lists around them stand for.
 */
export function findMutants(file: string, text: string): { mutants: Mutant[]; functions: FunctionBody[] } {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const mutants: Mutant[] = [];
  const functions: FunctionBody[] = [];
  const visit = (node: ts.Node, within: number | null): void => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return;
    const add = (from: ts.Node, replacement: string): void => {
      const start = from.getStart(source);
      const { line } = source.getLineAndCharacterOfPosition(start);
      mutants.push({ file, line: line + 1, start, end: from.getEnd(), replacement, within });
    };
    mutateNode(node, source, add);
    let inside = within;
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const body = node.body as ts.Node;
      functions.push({ start: body.getStart(source), end: body.getEnd(), isBlock: ts.isBlock(body) });
      inside = functions.length - 1;
      if (ts.isBlock(body) && body.statements.length > 0)
        mutants.push({ ...placed(body, source), file, replacement: '{}', within: inside });
    }
    ts.forEachChild(node, (child) => visit(child, inside));
  };
  visit(source, null);
  return { mutants, functions };
}

const placed = (node: ts.Node, source: ts.SourceFile): Pick<Mutant, 'line' | 'start' | 'end'> => {
  const start = node.getStart(source);
  return { line: source.getLineAndCharacterOfPosition(start).line + 1, start, end: node.getEnd() };
};

function mutateNode(node: ts.Node, source: ts.SourceFile, add: (from: ts.Node, replacement: string) => void): void {
  if (ts.isBinaryExpression(node)) {
    const other = operators[node.operatorToken.kind];
    const joinsTexts = [node.left, node.right].some((side) => ts.isStringLiteralLike(side) || ts.isTemplateExpression(side));
    if (other !== undefined && (!joinsTexts || other === '!==' || other === '===')) {
      const sides = `${node.left.getText(source)} ${other} ${node.right.getText(source)}`;
      // In parentheses, because `??` does not stand beside `&&` without; an assignment has none.
      add(node, other.endsWith('=') && other.length === 2 && '+-'.includes(other[0] ?? '') ? sides : `(${sides})`);
    }
  } else if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) add(node, node.operand.getText(source));
  else if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) {
    const text = node.getText(source);
    if (text.includes('++')) add(node, text.replace('++', '--'));
  } else if (node.kind === ts.SyntaxKind.TrueKeyword) add(node, 'false');
  else if (node.kind === ts.SyntaxKind.FalseKeyword) add(node, 'true');
  else if (ts.isArrayLiteralExpression(node) && node.elements.length > 0 && !ts.isBinaryExpression(node.parent)) add(node, '[]');
  else if (ts.isIfStatement(node)) {
    add(node.expression, 'true');
    add(node.expression, 'false');
  } else if (ts.isConditionalExpression(node)) {
    add(node.condition, 'true');
    add(node.condition, 'false');
  } else if (ts.isWhileStatement(node)) add(node.expression, 'false');
  else if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
    const { name, expression } = node.expression;
    const other = Object.hasOwn(methods, name.text) ? methods[name.text] : undefined;
    if (other !== undefined) add(name, other);
    else if (dropped.has(name.text)) add(node, expression.getText(source));
  }
}

export const mutated = (text: string, { start, end, replacement }: Mutant): string => text.slice(0, start) + replacement + text.slice(end);

/** The text with `__called(n)` at the start of each function. Places do not overlap but nest, so they are written from the inside out. */
export function counted(text: string, functions: readonly FunctionBody[]): string {
  const insertions = functions.flatMap(({ start, end, isBlock }, n) =>
    isBlock
      ? [{ at: start + 1, order: 0, text: `__called(${n});` }]
      : [
          { at: start, order: 0, text: `(__called(${n}), ` },
          { at: end, order: 1, text: ')' },
        ],
  );
  insertions.sort((a, b) => b.at - a.at || b.order - a.order);
  let written = text;
  for (const { at, text: inserted } of insertions) written = written.slice(0, at) + inserted + written.slice(at);
  return written;
}
