/** A call that waits for a person. It is left when its caller goes or the service stops. Thousands are held, so it is less than an AbortController. */
export class ParkedCall {
  left = false;
  private whenLeft: (() => void) | undefined;

  leave(): void {
    if (this.left) return;
    this.left = true;
    this.whenLeft?.();
  }

  /** Called once, at once if it has been left already. */
  onLeave(listener: () => void): void {
    if (this.left) listener();
    else this.whenLeft = listener;
  }
}

/** Calls that wait for a person, so that a stop can let go of them: their runners ask again, elsewhere. */
export class ParkedCalls {
  private readonly parked = new Set<ParkedCall>();
  private stopped = false;

  open(): ParkedCall {
    const call = new ParkedCall();
    if (this.stopped) call.leave();
    this.parked.add(call);
    return call;
  }

  close(call: ParkedCall): void {
    this.parked.delete(call);
  }

  get size(): number {
    return this.parked.size;
  }

  stop(): void {
    this.stopped = true;
    for (const call of this.parked) call.leave();
  }
}
