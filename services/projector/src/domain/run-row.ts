import { type RecordedEvent, type SessionView, terminalStatuses, timelineEvent } from '@fluidbox/contracts';
import { evolveRun, initialRun, type RunState, sessionView } from '@fluidbox/run-stream';

/** What the list of runs shows: the shared fold and the two things it does not carry. */
export interface RunPicture {
  readonly run: RunState;
  readonly agentRevision: number;
  /** Where the summary of the end stands. */
  readonly summarySeq: number | null;
}
export interface RunRow {
  readonly runId: string;
  readonly org: string;
  readonly invokedBy: string;
  readonly agent: string;
  readonly status: SessionView['status'];
  readonly lastSeq: number;
  readonly summarySeq: number | null;
  readonly createdAt: string;
  /** Without content: task and summary are read from the stream, so that they disappear with their keys. */
  readonly view: SessionView;
}

export const runPicture = {
  initial: (): RunPicture => ({ run: initialRun(), agentRevision: 0, summarySeq: null }),
  evolve(picture: RunPicture, recorded: RecordedEvent): RunPicture {
    const event = timelineEvent(recorded);
    const run = evolveRun(picture.run, recorded);
    // The fold changes the state that it is given; most events change nothing else.
    const next = run === picture.run ? picture : { ...picture, run };
    if (event?.type === 'session.created') return { ...next, agentRevision: event.data.agent_revision };
    if (event?.type === 'session.status_changed' && (terminalStatuses as readonly string[]).includes(event.data.to))
      return { ...next, summarySeq: event.seq };
    return next;
  },
};

/** Null for a stream that has no beginning: there is nothing to list. */
export function runRow(picture: RunPicture, org: string): RunRow | null {
  const { run, agentRevision, summarySeq } = picture;
  if (run.runId === null) return null;
  const view = sessionView(run, { task: null, summary: null, agentRevision });
  return {
    runId: run.runId,
    org,
    invokedBy: run.invokedBy,
    agent: run.agent,
    status: view.status,
    lastSeq: run.version,
    summarySeq,
    createdAt: view.created_at,
    view,
  };
}
