import { type Principal, type Role, roleAtLeast } from '@fluidbox/contracts';

/** Who may see and do what with a run. A run that one may not see does not exist: the edge answers 404, never 403. */
export const maySeeRun = (principal: Principal, run: { invokedBy: string; org: string }): boolean =>
  run.org === principal.org && (roleAtLeast(principal.role, 'approver') || run.invokedBy === principal.name);

/** Members end their own runs, admins any; an approver decides calls, not runs. */
export const mayCancelRun = (principal: Principal, run: { invokedBy: string }): boolean =>
  principal.role === 'admin' || run.invokedBy === principal.name;

/** Whoever holds the bootstrap token; its name is the same in every deployment. */
export const bootstrapName = 'admin';
/** Names that stand in the record for somebody else: the bootstrap token, what settles an approval when no person does, and what erases in its time. */
const reservedNames: ReadonlySet<string> = new Set([bootstrapName, 'timeout', 'run_ended', 'retention']);
export const isReservedName = (name: string): boolean => reservedNames.has(name.toLowerCase());

/** A token may be made by an admin only, and never with more than the maker has. */
export const mayGiveRole = (principal: Principal, role: Role): boolean => principal.role === 'admin' && roleAtLeast(principal.role, role);
