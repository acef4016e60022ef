import { audiences, type LaunchRun, type ParsedRequestOf, Problem, type ReplyOf, runStream, streamNameOf } from '@fluidbox/contracts';
import type { RunState } from '@fluidbox/run-stream';
import { limits } from '../domain/limits';
import { decideLaunch } from '../domain/run';
import { decideOnRun } from './decide-on-run';
import type { Ports } from './ports';

const hourMs = 3_600_000;
const liftedWallClockMs = 30 * 24 * hourMs;
/** `session.created` is the first event of every run; task and prompt are its content. */
const createdSeq = 1;

/** The next generation with all that its sandbox needs. Tokens are signed after the commit: a generation that was not stored never had one. */
export async function launchRun(ports: Ports, request: ParsedRequestOf<typeof LaunchRun>): Promise<ReplyOf<typeof LaunchRun>> {
  const stream = runStream(request.run_id, request.org);
  const launched = await decideOnRun(ports, request, (run, now) => {
    const decided = decideLaunch(run, now);
    if (decided instanceof Problem) return decided;
    const result = { ...decided.result, specDigest: run.specDigest, expiresAt: tokensExpireAt(run, now) };
    return { events: decided.events, result, setGeneration: decided.result.generation };
  });
  const keys = await ports.ledger.keyring.keysOf(streamNameOf(stream));
  const content = (await ports.ledger.content(stream, createdSeq, 'rest')) as { task: string; system_prompt: string | null } | null;
  if (content === null) throw new Problem('internal', `the task of run ${request.run_id} cannot be opened`);
  const grant = { runId: request.run_id, org: request.org, generation: launched.generation, expiresAt: launched.expiresAt };
  const signed = await Promise.all(
    audiences.map(async (audience) => [audience, await ports.signToken({ ...grant, audience, jti: ports.ids.uuid() })] as const),
  );
  return {
    generation: launched.generation,
    valid_until: launched.validUntil,
    tokens: Object.fromEntries(signed) as ReplyOf<typeof LaunchRun>['tokens'],
    keys: keys.exportRest(),
    task: content.task,
    system_prompt: content.system_prompt,
    spec_digest: launched.specDigest,
  };
}

/** An outer bound only, validity is the lease: the latest end of the wall clock and an hour to report. */
function tokensExpireAt(run: RunState, now: number): Date {
  const secs = run.budgets.max_wall_clock_secs;
  if (secs === null) return new Date(now + liftedWallClockMs);
  return new Date(run.createdAt + limits.launchStalledMs + secs * 1_000 + hourMs);
}
