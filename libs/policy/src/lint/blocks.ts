import type { PolicyDocument } from '@fluidbox/contracts';
import { compilePolicy } from '../compile';
import { evaluateProjection } from '../evaluate';
import { gateProjection, isShellTool, shellTools } from '../projection';
import { toolMatcher } from '../tool-matcher';
import type { Found } from './finding';

/** Blocks that a rule cannot use. */
export function* blocks({ tools }: PolicyDocument): Generator<Found> {
  for (const [index, rule] of tools.entries()) {
    if (rule.action === 'deny')
      for (const block of ['shell', 'paths'] as const)
        if (rule[block] !== undefined)
          yield {
            code: 'dead_block',
            severity: 'warning',
            path: ['tools', index, block],
            message: 'the rule denies whatever this block says',
            fix: 'remove the block, or give the rule another action',
          };
    const matches = toolMatcher(rule.match);
    if (rule.shell !== undefined && ![...shellTools].some(matches))
      yield {
        code: 'shell_without_shell_tool',
        severity: 'error',
        path: ['tools', index, 'shell'],
        message: `no tool of this rule runs shell commands (${[...shellTools].join(', ')}), so each of its calls is asked for`,
        fix: 'remove the block, or name the tool that it is meant for',
      };
  }
}

/** A `requires` whose command the policy itself denies can never be met. */
export function* impossibleRequires(document: PolicyDocument): Generator<Found> {
  const withoutHistory = compilePolicy({ ...document, tools: document.tools.map(({ history: _, ...rule }) => rule) });
  for (const [index, { history }] of document.tools.entries()) {
    const { tool, command } = history?.requires ?? {};
    if (tool === undefined || tool.endsWith('*')) continue;
    if (command === undefined && isShellTool(tool)) continue;
    const projection = gateProjection({ tool, input: command === undefined ? {} : { command } });
    // Its own history may still come, so only what the rule itself denies counts.
    const verdict = evaluateProjection(withoutHistory, projection);
    if (verdict.verdict !== 'deny' || (command === undefined && verdict.parts.length > 0)) continue;
    yield {
      code: 'requires_impossible',
      severity: 'error',
      path: ['tools', index, 'history', 'requires'],
      message: `the policy denies the call that it asks for: ${verdict.reason}`,
      fix: 'let that call pass, or require another one',
    };
  }
}
