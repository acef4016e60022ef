import { z } from 'zod';
import { ApprovalId, OrgId } from '../ids';
import { DecideApprovalBody, Principal } from '../public-api';
import { ApprovalOutcome } from '../timeline';
import { command } from './command';

/** gateway → approvals. A loser gets `approval_settled` with the settled decision; after `expires_at` it is `approval_expired`. */
export const DecideApproval = command(
  'approvals',
  'decide',
  z.strictObject({ org: OrgId, approval_id: ApprovalId, principal: Principal, body: DecideApprovalBody }),
  z.strictObject({
    approval_id: ApprovalId,
    decision: z.union([ApprovalOutcome, z.literal('pending')]),
    votes: z.number().int(),
    needed: z.number().int(),
  }),
);
