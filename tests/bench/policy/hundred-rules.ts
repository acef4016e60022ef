import fs from 'node:fs';
import path from 'node:path';
import { preparsePolicySet, statefulIsAuthorized } from '@cedar-policy/cedar-wasm/nodejs';
import { PolicyDocument } from '@fluidbox/contracts';
import { type CompiledPolicy, compilePolicy, evaluateProjection, type GateProjection, gateProjection } from '@fluidbox/policy';
import { type Enforcer, newEnforcer, newModelFromString, StringAdapter } from 'casbin';

/** The same hundred rules three times: each tool may touch one directory, and nobody the secret one. */
const dirOf = (rule: number): string => `/workspace/dir${rule}`;
const toolOf = (rule: number): string => `tool${rule}`;
const secret = '/workspace/secret';

export interface AskedCall {
  readonly tool: string;
  readonly path: string;
  readonly isAllowed: boolean;
}
/** From the first rule to the last, allowed and refused. */
export const askedCalls = (rules: number): AskedCall[] =>
  [0, Math.floor(rules / 3), Math.floor(rules / 2), rules - 1].flatMap((rule) => [
    { tool: toolOf(rule), path: `${dirOf(rule)}/src/a.ts`, isAllowed: true },
    { tool: toolOf(rule), path: `${dirOf(rule + 1)}/a.ts`, isAllowed: false },
    { tool: toolOf(rule), path: `${secret}/key`, isAllowed: false },
  ]);

export function ourPolicy(rules: number): CompiledPolicy {
  // A document has at most 512 rules; what the growth of the matching is measured with has more of them compiled into one.
  const documentOf = (from: number, count: number) =>
    PolicyDocument.parse({
      name: 'bench',
      defaults: { tool_action: 'deny' },
      tools: Array.from({ length: count }, (_, i) => ({
        match: [toolOf(from + i)],
        action: 'allow',
        paths: { allow: [`${dirOf(from + i)}/**`], deny: [`${secret}/**`] },
      })),
    });
  const chunk = 500;
  const parts = Array.from({ length: Math.ceil(rules / chunk) }, (_, i) => documentOf(i * chunk, Math.min(chunk, rules - i * chunk)));
  const [first] = parts;
  if (first === undefined) throw new Error('a policy needs rules');
  return compilePolicy({ ...first, tools: parts.flatMap((part) => part.tools) });
}

export const projectionOf = ({ tool, path }: AskedCall): GateProjection => gateProjection({ tool, input: { file_path: path } });
export const weAllow = (policy: CompiledPolicy, projection: GateProjection): boolean =>
  evaluateProjection(policy, projection).verdict === 'allow';

export function casbinOf(rules: number): Promise<Enforcer> {
  const model = newModelFromString(`
[request_definition]
r = tool, path
[policy_definition]
p = tool, path, eft
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = (p.tool == "*" || r.tool == p.tool) && keyMatch(r.path, p.path)
`);
  const lines = Array.from({ length: rules - 1 }, (_, i) => `p, ${toolOf(i)}, ${dirOf(i)}/*, allow`);
  // The one refusal is the hundredth rule, as in the other two the refusal is beside the rules.
  const last = `p, ${toolOf(rules - 1)}, ${dirOf(rules - 1)}/*, allow`;
  return newEnforcer(model, new StringAdapter([...lines, last, `p, *, ${secret}/*, deny`].join('\n')));
}

const cedarSet = 'bench';
export function prepareCedar(rules: number): void {
  const permits = Array.from(
    { length: rules },
    (_, i) => `permit(principal, action == Action::"call", resource == Tool::"${toolOf(i)}") when { context.path like "${dirOf(i)}/*" };`,
  );
  const forbid = `forbid(principal, action, resource) when { context.path like "${secret}/*" };`;
  const answer = preparsePolicySet(cedarSet, { staticPolicies: [...permits, forbid].join('\n') });
  if (answer.type !== 'success') throw new Error(`cedar: ${JSON.stringify(answer)}`);
}

export function cedarAllows({ tool, path }: AskedCall): boolean {
  const answer = statefulIsAuthorized({
    principal: { type: 'Agent', id: 'a' },
    action: { type: 'Action', id: 'call' },
    resource: { type: 'Tool', id: tool },
    context: { path },
    preparsedPolicySetId: cedarSet,
    entities: [],
  });
  if (answer.type !== 'success') throw new Error(`cedar: ${JSON.stringify(answer)}`);
  return answer.response.decision === 'allow';
}

/** Read from the installed package: not every package lets its manifest be required. */
const versionOf = (name: string): string =>
  (JSON.parse(fs.readFileSync(path.join(__dirname, '../../node_modules', name, 'package.json'), 'utf8')) as { version: string }).version;
export const peers = (): Record<string, string> => ({
  node: process.version,
  casbin: versionOf('casbin'),
  'cedar-wasm': versionOf('@cedar-policy/cedar-wasm'),
});
