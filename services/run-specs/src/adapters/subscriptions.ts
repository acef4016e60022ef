import {
  BacktestPolicy,
  CheckPolicy,
  ClonePolicy,
  CreateAgent,
  DecidePolicyProposal,
  DeletePolicy,
  FreezeRunSpec,
  GetAgent,
  GetPolicy,
  GetPolicyProposal,
  ImportPolicy,
  ListAgents,
  ListPolicies,
  ListPolicyProposals,
  ListPolicyVersions,
  RevertPolicy,
  ReviseAgent,
} from '@fluidbox/contracts';
import { type CommandSubscription, subscribe } from '@fluidbox/service-kit';
import { backtestPolicy } from '../app/backtest-policy';
import { clonePolicy } from '../app/clone-policy';
import { createAgent } from '../app/create-agent';
import { decidePolicyProposal } from '../app/decide-proposal';
import { deletePolicy } from '../app/delete-policy';
import { getAgent, listAgents } from '../app/find-agent';
import { freezeRunSpec } from '../app/freeze-run-spec';
import type { Ports } from '../app/ports';
import { importPolicy, revertPolicy } from '../app/publish-policy';
import { getPolicy, listPolicies, listPolicyVersions } from '../app/read-policy';
import { getPolicyProposal, listPolicyProposals } from '../app/read-proposals';
import { reviseAgent } from '../app/revise-agent';

export const subscriptions = (ports: Ports): readonly CommandSubscription[] => [
  subscribe(FreezeRunSpec, (request) => freezeRunSpec(ports, request)),
  subscribe(CreateAgent, (request) => createAgent(ports, request)),
  subscribe(ReviseAgent, (request) => reviseAgent(ports, request)),
  subscribe(GetAgent, (request) => getAgent(ports, request)),
  subscribe(ListAgents, (request) => listAgents(ports, request)),
  subscribe(ImportPolicy, (request) => importPolicy(ports, request)),
  subscribe(RevertPolicy, (request) => revertPolicy(ports, request)),
  subscribe(ClonePolicy, (request) => clonePolicy(ports, request)),
  subscribe(DeletePolicy, (request) => deletePolicy(ports, request)),
  subscribe(GetPolicy, (request) => getPolicy(ports, request)),
  subscribe(ListPolicies, (request) => listPolicies(ports, request)),
  subscribe(ListPolicyVersions, (request) => listPolicyVersions(ports, request)),
  subscribe(CheckPolicy, ({ body }) => Promise.resolve(ports.policies.check(body.source))),
  subscribe(BacktestPolicy, (request) => backtestPolicy(ports, request)),
  subscribe(ListPolicyProposals, (request) => listPolicyProposals(ports, request)),
  subscribe(GetPolicyProposal, (request) => getPolicyProposal(ports, request)),
  subscribe(DecidePolicyProposal, (request) => decidePolicyProposal(ports, request)),
];
