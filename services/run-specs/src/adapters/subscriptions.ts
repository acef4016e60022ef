import { CreateAgent, FreezeRunSpec, GetAgent, GetPolicy, ImportPolicy, ListAgents, ListPolicies, ReviseAgent } from '@fluidbox/contracts';
import { type CommandSubscription, subscribe } from '@fluidbox/service-kit';
import { createAgent } from '../app/create-agent';
import { getAgent, listAgents } from '../app/find-agent';
import { freezeRunSpec } from '../app/freeze-run-spec';
import { importPolicy } from '../app/import-policy';
import type { Ports } from '../app/ports';
import { getPolicy, listPolicies } from '../app/read-policy';
import { reviseAgent } from '../app/revise-agent';

export const subscriptions = (ports: Ports): readonly CommandSubscription[] => [
  subscribe(FreezeRunSpec, (request) => freezeRunSpec(ports, request)),
  subscribe(CreateAgent, (request) => createAgent(ports, request)),
  subscribe(ReviseAgent, (request) => reviseAgent(ports, request)),
  subscribe(GetAgent, (request) => getAgent(ports, request)),
  subscribe(ListAgents, (request) => listAgents(ports, request)),
  subscribe(ImportPolicy, (request) => importPolicy(ports, request)),
  subscribe(GetPolicy, (request) => getPolicy(ports, request)),
  subscribe(ListPolicies, (request) => listPolicies(ports, request)),
];
