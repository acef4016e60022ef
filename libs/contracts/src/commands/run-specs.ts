import { z } from 'zod';
import { Digest, OrgId } from '../ids';
import {
  BacktestBody,
  BacktestView,
  CheckPolicyBody,
  ClonePolicyBody,
  DecideProposalBody,
  PolicyCheck,
  PolicyProposalView,
  PublishedPolicy,
  RevertPolicyBody,
  TokenMakers,
} from '../policy-api';
import { AgentView, CreateAgentBody, CreateSessionBody, ImportPolicyBody, PolicyView, Principal, ReviseAgentBody } from '../public-api';
import { RunSpec } from '../run-spec';
import { command, run } from './command';

/** runs → run-specs. Pure of side effects but for storing the document; the caller gave the salt. */
export const FreezeRunSpec = command(
  'run-specs',
  'freeze',
  z.strictObject({ ...run, salt: z.string(), principal: Principal, invocation: z.enum(['api', 'cli']), body: CreateSessionBody }),
  z.strictObject({ spec_digest: Digest, spec: RunSpec, system_prompt: z.string().nullable() }),
);
export const CreateAgent = command('run-specs', 'create_agent', z.strictObject({ principal: Principal, body: CreateAgentBody }), AgentView);
export const ReviseAgent = command(
  'run-specs',
  'revise_agent',
  z.strictObject({ principal: Principal, name: z.string(), body: ReviseAgentBody }),
  AgentView,
);
export const GetAgent = command('run-specs', 'get_agent', z.strictObject({ org: OrgId, name: z.string() }), AgentView);
export const ListAgents = command('run-specs', 'list_agents', z.strictObject({ org: OrgId }), z.array(AgentView));
/** gateway → run-specs. `made_by` belongs to the caller's token; left out it is not known, and such a caller never needs or is a second person. */
const publisher = { principal: Principal, made_by: TokenMakers.optional(), name: z.string() };
export const ImportPolicy = command(
  'run-specs',
  'import_policy',
  z.strictObject({ ...publisher, body: ImportPolicyBody }),
  PublishedPolicy,
);
export const RevertPolicy = command(
  'run-specs',
  'revert_policy',
  z.strictObject({ ...publisher, body: RevertPolicyBody }),
  PublishedPolicy,
);
export const ClonePolicy = command('run-specs', 'clone_policy', z.strictObject({ ...publisher, body: ClonePolicyBody }), PublishedPolicy);
export const DeletePolicy = command(
  'run-specs',
  'delete_policy',
  z.strictObject({ principal: Principal, name: z.string() }),
  z.strictObject({ name: z.string(), last_version: z.number().int() }),
);
export const GetPolicy = command(
  'run-specs',
  'get_policy',
  z.strictObject({ org: OrgId, name: z.string(), version: z.number().int().min(1).nullable() }),
  PolicyView,
);
export const ListPolicies = command(
  'run-specs',
  'list_policies',
  z.strictObject({ org: OrgId }),
  z.array(PolicyView.omit({ source: true })),
);
/** Newest first, also of a policy that was deleted. */
export const ListPolicyVersions = command(
  'run-specs',
  'list_policy_versions',
  z.strictObject({ org: OrgId, name: z.string() }),
  z.array(PolicyView.omit({ source: true })),
);
export const CheckPolicy = command('run-specs', 'check_policy', z.strictObject({ body: CheckPolicyBody }), PolicyCheck);
/** Opens the projections of recorded calls; reads only. */
export const BacktestPolicy = command(
  'run-specs',
  'backtest_policy',
  z.strictObject({ org: OrgId, name: z.string(), body: BacktestBody }),
  BacktestView,
);
/** Of one policy or of all; open ones only, unless `closed`. */
export const ListPolicyProposals = command(
  'run-specs',
  'list_policy_proposals',
  z.strictObject({ org: OrgId, name: z.string().nullable(), closed: z.boolean() }),
  z.array(PolicyProposalView.omit({ source: true })),
);
export const GetPolicyProposal = command(
  'run-specs',
  'get_policy_proposal',
  z.strictObject({ org: OrgId, name: z.string(), proposal_id: z.uuid() }),
  PolicyProposalView,
);
export const DecidePolicyProposal = command(
  'run-specs',
  'decide_policy_proposal',
  z.strictObject({ ...publisher, proposal_id: z.uuid(), body: DecideProposalBody }),
  PolicyProposalView,
);
