/** Calls that wait for a person, so that a stop can let go of them: their runners ask again, elsewhere. */
export class ParkedCalls {
  private readonly parked = new Set<AbortController>();
  private stopped = false;

  /** Aborted when the service stops, or when the caller goes (`abort()`). */
  open(): AbortController {
    const call = new AbortController();
    if (this.stopped) call.abort();
    this.parked.add(call);
    return call;
  }

  close(call: AbortController): void {
    this.parked.delete(call);
  }

  get size(): number {
    return this.parked.size;
  }

  stop(): void {
    this.stopped = true;
    for (const call of this.parked) call.abort();
  }
}
