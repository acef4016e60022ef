import type { AppendGroup } from '../api';

export interface HeadState {
  readonly seq: number;
  readonly generation: number;
  readonly closed: boolean;
}
export type Refusal = 'conflict' | 'closed' | 'stale_lease';

/**
 * Whether a group may follow this head. A decision that was folded from an older version hears of that first: what it missed tells it why the stream
 * is closed. `ledger.append_batch` judges in the same order.
 */
export function refusalOf(head: HeadState, group: AppendGroup): Refusal | null {
  if (group.expected !== 'any' && group.expected !== head.seq) return 'conflict';
  if (head.closed) return 'closed';
  if (group.generation !== undefined && group.generation !== head.generation) return 'stale_lease';
  return null;
}

/** Facts of one stream that are fenced alike stand or fall together, so they may share one unit of a batch. Not with one that names another organisation. */
export const mayShareUnit = (first: AppendGroup, next: AppendGroup): boolean =>
  isPlainFact(first) && isPlainFact(next) && first.generation === next.generation && first.stream.org === next.stream.org;

const isPlainFact = (group: AppendGroup): boolean =>
  group.expected === 'any' &&
  group.setGeneration === undefined &&
  group.closes !== true &&
  group.keys === undefined &&
  (group.accounts?.length ?? 0) === 0;
