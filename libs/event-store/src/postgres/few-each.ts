import type { AccountChange } from '../api';
import { mergedAccounts } from '../domain/merged-accounts';
import { Block, contentClasses, contentRows, type Query, type Unit } from './batch';
import type { EncodedEvent } from './encoded';
import { accountColumns, columnsOfEvent, statementOf, unitColumns } from './few-each-statement';

/** More events for one stream are worth the batch statement, and each number is a plan in every session. */
const eventsMax = 4;
const accountsMax = 4;

/**
 * The batch in which every stream gets few events, as most do: what `single.ts` is for one caller. The heads move first, in stream order, and for a stream
 * whose head did not move (a conflict, say) nothing is stored; the batch statement finds out why. A fifth cheaper than that one, which locks, judges and
 * then joins. An account that many of them spend from changes once, if its limit leaves room for all of them in any order; else the statement fails
 * (`refused`) and the batch statement decides one by one.
 *
 * Null: not for this statement (keys or documents come along, or a stream gets many events).
 */
export function fewEachQuery(units: readonly Unit[]): Query | null {
  const lists: EncodedEvent[][] = [];
  const changes: (readonly AccountChange[])[] = [];
  for (const { groups } of units) {
    for (const { group } of groups) if (group.keys !== undefined || (group.documents?.length ?? 0) > 0) return null;
    lists.push(groups.flatMap(({ events }) => events));
    changes.push(mergedAccounts(groups.flatMap(({ group }) => group.accounts ?? [])));
  }
  const most = Math.max(...lists.map((events) => events.length));
  const mostAccounts = Math.max(...changes.map((each) => each.length));
  if (most === 0 || most > eventsMax || mostAccounts > accountsMax) return null;

  const hasContent = lists.some((events) =>
    events.some(({ prepared }) => contentClasses.some((each) => prepared.content[each] !== undefined)),
  );
  const ofUnits = columns(unitColumns.length);
  const ofAccounts = Array.from({ length: mostAccounts }, () => columns(accountColumns.length));
  const ofEvents = Array.from({ length: most }, () => columns(columnsOfEvent(hasContent).length));
  const bytes = new Block();
  const digests = new Block();
  units.forEach(({ stream, groups }, index) => {
    const lead = groups[0]?.group;
    const events = lists[index] ?? [];
    if (lead === undefined) return;
    const expected = lead.expected === 'any' ? null : lead.expected;
    const fences = [lead.generation ?? null, lead.setGeneration ?? null, lead.closes === true];
    addRow(ofUnits, [stream, lead.stream.org, lead.stream.category, expected, ...fences, events.length]);
    for (const [place, to] of ofAccounts.entries()) {
      const change = changes[index]?.[place];
      addRow(to, change === undefined ? [] : [change.scope, change.period, change.reserve, change.settle]);
    }
    for (const [place, to] of ofEvents.entries()) {
      const event = events[place];
      digests.add(event?.digest ?? noDigest);
      const cells = event === undefined ? [] : cellsOf(event, bytes, hasContent ? contentRows(lead.stream.category, [event]) : []);
      addRow(to, cells);
    }
  });
  return {
    ...statementOf(most, hasContent, mostAccounts),
    values: [...ofUnits, ...ofAccounts.flat(), ...ofEvents.flat(), bytes.bytes(), digests.bytes()],
  };
}

const columns = (count: number): unknown[][] => Array.from({ length: count }, () => []);
function addRow(to: readonly unknown[][], row: readonly unknown[]): void {
  for (const [i, column] of to.entries()) column.push(row[i] ?? null);
}
function cellsOf({ prepared, body, bytes }: EncodedEvent, to: Block, contents: ReturnType<typeof contentRows>): unknown[] {
  const cells: unknown[] = [prepared.eventId, body.type, body.version, body.occurred_at, body.actor, ...to.add(bytes)];
  for (const each of contentClasses) {
    const content = contents.find(({ keyClass }) => keyClass === each);
    cells.push(...(content === undefined ? [null, null, null] : [...to.add(content.sealed), content.days]));
  }
  return cells;
}
const noDigest = Buffer.alloc(32);
