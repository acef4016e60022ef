import { z } from 'zod';
import { BudgetScope, BudgetView, SetBudgetBody } from '../budgets';
import { OrgId } from '../ids';
import { Principal } from '../public-api';
import { SetUpstreamBody, UpstreamDialect, UpstreamName, UpstreamView } from '../upstreams';
import { command } from './command';

/** gateway → llm-facade, for an admin: limits of the accounts that many runs spend from, and how they stand. */
export const SetBudget = command(
  'llm-facade',
  'set_budget',
  z.strictObject({ principal: Principal, scope: BudgetScope, body: SetBudgetBody }),
  BudgetView,
);
export const ListBudgets = command('llm-facade', 'list_budgets', z.strictObject({ org: OrgId }), z.array(BudgetView));

/** gateway → llm-facade, for an admin: the organisation's own upstreams of one dialect, in the order in which they are asked. No reply holds a key. */
export const SetUpstream = command(
  'llm-facade',
  'set_upstream',
  z.strictObject({ principal: Principal, dialect: UpstreamDialect, name: UpstreamName, body: SetUpstreamBody }),
  z.array(UpstreamView),
);
export const ListUpstreams = command(
  'llm-facade',
  'list_upstreams',
  z.strictObject({ org: OrgId, dialect: UpstreamDialect }),
  z.array(UpstreamView),
);
export const RemoveUpstream = command(
  'llm-facade',
  'remove_upstream',
  z.strictObject({ principal: Principal, dialect: UpstreamDialect, name: UpstreamName }),
  z.strictObject({ removed: z.literal(true) }),
);
