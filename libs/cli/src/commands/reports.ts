import type { CostDimension, GateDimension } from '@fluidbox/contracts';
import type { ApiClient } from '../api/client';
import { exitCodes } from '../exit-codes';
import { dollarsOf } from '../money';
import { type Output, table } from '../output';

interface Period {
  readonly from?: string;
  readonly to?: string;
}
const moreGroups = 'there are more groups; ask for a shorter period (--from, --to)';

export async function costsCommand(api: ApiClient, options: Period & { by: CostDimension }, output: Output): Promise<number> {
  const summary = await api.costs(options);
  if (output.json) {
    output.out(JSON.stringify(summary));
    return exitCodes.ok;
  }
  output.err(`${summary.from} to ${summary.to}, days in UTC`);
  const rows = summary.data.map((group) => [
    dollarsOf(group.cost_micro_usd),
    String(group.model_requests),
    String(group.input_tokens + group.cache_read_tokens + group.cache_write_tokens),
    String(group.output_tokens),
    group.key,
  ]);
  output.out(table([['COST', 'REQUESTS', 'TOKENS IN', 'TOKENS OUT', options.by.toUpperCase()], ...rows]));
  if (summary.truncated) output.err(moreGroups);
  return exitCodes.ok;
}

export async function decisionsCommand(api: ApiClient, options: Period & { by: GateDimension }, output: Output): Promise<number> {
  const summary = await api.decisions(options);
  if (output.json) {
    output.out(JSON.stringify(summary));
    return exitCodes.ok;
  }
  output.err(`${summary.from} to ${summary.to}, days in UTC; ask: calls that waited for a person, who then allowed or denied them`);
  if (options.by === 'rule') output.err('a rule is policy@version#place in its tools, counted from 0, and the entry that decided');
  const rows = summary.data.map((group) => [String(group.allow), String(group.deny), String(group.ask), group.key]);
  output.out(table([['ALLOW', 'DENY', 'ASK', options.by.toUpperCase()], ...rows]));
  if (summary.truncated) output.err(moreGroups);
  return exitCodes.ok;
}
