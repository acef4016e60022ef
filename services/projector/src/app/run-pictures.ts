import { type RecordedEvent, runStream } from '@fluidbox/contracts';
import type { EventStore } from '@fluidbox/event-store';
import { type RunPicture, runPicture } from '../domain/run-row';

/** The runs that a page of the log speaks of. */
export interface PageRuns {
  after(events: readonly RecordedEvent[]): Promise<ReadonlyMap<string, RunPicture>>;
}

interface Known {
  version: number;
  picture: RunPicture;
}

const pageSize = 1_000;

/**
 * The runs that pages of the log speak of, folded from these pages: a run whose beginning has passed by is read from its stream once. One reader of the
 * global order owns it. A page that comes twice changes nothing; after one that was not committed a run may be ahead of what is stored, never behind.
 */
export class RunPictures implements PageRuns {
  readonly #known = new Map<string, Known>();

  constructor(
    private readonly store: Pick<EventStore, 'read'>,
    private readonly runsMax = 5_000,
  ) {}

  /** The runs of a page, each as it stands after the page. */
  async after(events: readonly RecordedEvent[]): Promise<Map<string, RunPicture>> {
    const touched = new Map<string, Known>();
    const ended = new Set<string>();
    for (const event of events) {
      if (event.type === 'run.result') ended.add(event.stream);
      const run = touched.get(event.stream) ?? this.#take(event.stream);
      touched.set(event.stream, run);
      if (run.version < event.seq - 1) await this.#readUpTo(run, event);
      advance(run, event);
    }
    for (const [stream, run] of touched) {
      // Nothing follows the end of a run.
      if (!ended.has(stream)) this.#keep(stream, run);
    }
    return new Map([...touched].map(([stream, { picture }]) => [stream, picture]));
  }

  #take(stream: string): Known {
    const known = this.#known.get(stream);
    this.#known.delete(stream);
    return known ?? { version: 0, picture: runPicture.initial() };
  }

  #keep(stream: string, run: Known): void {
    this.#known.set(stream, run);
    const oldest = this.#known.size > this.runsMax ? this.#known.keys().next().value : undefined;
    if (oldest !== undefined) this.#known.delete(oldest);
  }

  async #readUpTo(run: Known, event: RecordedEvent): Promise<void> {
    const stream = runStream(event.stream.slice('run-'.length), event.org);
    while (run.version < event.seq - 1) {
      const missing = await this.store.read(stream, { after: run.version, limit: Math.min(pageSize, event.seq - 1 - run.version) });
      if (missing.length === 0) throw new Error(`${event.stream} has no event ${run.version + 1}, but ${event.seq}`);
      for (const each of missing) advance(run, each);
    }
  }
}

/** Only what each run began as: enough for sums and lists, from pages that leave out most events. */
export class RunBeginnings implements PageRuns {
  readonly #known = new Map<string, RunPicture>();

  constructor(
    private readonly store: Pick<EventStore, 'read'>,
    private readonly runsMax = 50_000,
  ) {}

  async after(events: readonly RecordedEvent[]): Promise<Map<string, RunPicture>> {
    const touched = new Map<string, RunPicture>();
    for (const event of events)
      if (!touched.has(event.stream))
        touched.set(event.stream, this.#known.get(event.stream) ?? this.#keep(event.stream, await this.#begin(event)));
    return touched;
  }

  async #begin(event: RecordedEvent): Promise<RunPicture> {
    const first =
      event.seq === 1 ? event : (await this.store.read(runStream(event.stream.slice('run-'.length), event.org), { limit: 1 }))[0];
    return first === undefined ? runPicture.initial() : runPicture.evolve(runPicture.initial(), first);
  }

  #keep(stream: string, picture: RunPicture): RunPicture {
    if (this.#known.size >= this.runsMax) this.#known.clear();
    this.#known.set(stream, picture);
    return picture;
  }
}

function advance(run: Known, event: RecordedEvent): void {
  if (event.seq <= run.version) return;
  run.picture = runPicture.evolve(run.picture, event);
  run.version = event.seq;
}
