import { createHash } from 'node:crypto';
import { canonical } from '../canonical';
import { evaluateProjection } from '../evaluate';
import { noHistory } from '../history/judge';
import { matchesOf } from '../history/matches';
import { policyOf } from '../policy.fixture';
import { gateProjection, type ToolCall } from '../projection';
import { evaluateTrustTier } from '../trust-tier';

const shell = {
  allow: [
    'ls',
    'cat',
    'echo',
    'git',
    'git -c',
    'npm',
    'npm test',
    'npx jest',
    'sort',
    'sort -o',
    'find',
    'sed -n',
    'timeout',
    'env',
    'cd',
    'python3 -',
    'grep',
    'bash',
    'xargs',
    'tee',
    'rg',
    'true',
    ':',
    'sub',
    'man',
    'tar',
    'tree',
    'zip',
    'file',
    'date',
    'less',
    'rsync',
    'go',
    'fd',
    'sed',
    'xargs rm',
    './x',
  ],
  ask: ['git push', 'rm -r', 'kubectl', 'npm run', 'docker exec', 'sudo'],
  deny: [
    'rm -rf /',
    'rm -r ~',
    'curl',
    'git push --force',
    'git reset --hard',
    'chmod 777',
    'wget',
    'gh issue create',
    'git -C',
    'dd',
    'npm exec',
    'cp -t',
  ],
};
const paths = { allow: ['/workspace/**', '/tmp/**'], deny: ['**/.env', '**/.git/hooks/**', '/etc/passwd', '/workspace/*.pem'] };
const rule = (more: object) =>
  policyOf({
    tools: [
      { match: ['Bash', 'Monitor'], action: 'allow', ...more },
      { match: ['Edit', 'Read', 'Glob', 'MultiEdit', 'LS', 'Grep'], action: 'allow', paths },
    ],
  });

/** From strict to loose, with and without each block, so that every table has something to say. */
const policies = [
  rule({ shell: { ...shell, on_no_match: 'deny' }, paths }),
  rule({ shell: { ...shell, deny_regex: ['\\bid\\b', '^eval', 'rm.*\\|.*sh'] } }),
  rule({ shell: { ask: shell.ask, deny: shell.deny, on_no_match: 'allow' }, paths }),
  rule({ shell: { deny: ['rm', 'sudo rm', 'git push', 'find -exec', 'env', 'bash'], on_no_match: 'allow' } }),
  rule({ paths: { deny: paths.deny } }),
  policyOf({
    defaults: { tool_action: 'allow' },
    tools: [
      {
        match: ['Other'],
        action: 'ask',
        history: { requires: { tool: 'Bash', command: 'npm test', ok: true }, forbid_after: { tool: 'Bash', command: 'rm' } },
      },
      {
        match: ['More'],
        action: 'ask',
        history: { requires: { tool: 'Bash', command: 'npm test' }, forbid_after: { tool: 'Bash', command: 'git push --force' } },
      },
      { match: ['Most'], action: 'ask', history: { requires: { tool: 'Bash', command: 'rm x', ok: false }, forbid_after: { tool: '*' } } },
    ],
  }),
];

const letters = { allow: 'a', ask: '?', deny: 'd' } as const;

/** Everything that this engine says of a call, as short as can be: verdict letters, the key of a grant, a digest of all the rest. */
export function recordOf(call: ToolCall): [string, string | null, string] {
  const projection = gateProjection(call);
  const verdicts = policies.map((policy) => evaluateProjection(policy, projection, noHistory));
  const matches = policies.map((policy) => matchesOf(policy, projection));
  const tier = evaluateTrustTier('read_only', projection);
  const digest = createHash('sha256')
    .update(canonical([{ ...projection, engine: '' }, verdicts, matches, tier]))
    .digest('hex')
    .slice(0, 12);
  return [`${verdicts.map(({ verdict }) => letters[verdict]).join('')}${tier === null ? '+' : '-'}`, verdicts[1]?.scopeKey ?? null, digest];
}
