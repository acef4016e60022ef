interface Leaving {
  leave(): void;
}

/** Calls under way, so that a stop can let go of those that wait for a person: their runners ask again, elsewhere. */
export class ParkedCalls {
  private readonly calls = new Set<Leaving>();
  private stopped = false;

  open(call: Leaving): void {
    this.calls.add(call);
    if (this.stopped) call.leave();
  }

  close(call: Leaving): void {
    this.calls.delete(call);
  }

  get size(): number {
    return this.calls.size;
  }

  stop(): void {
    this.stopped = true;
    for (const call of this.calls) call.leave();
  }
}
