/** Work on the same key runs in the order it came; a failure does not stop what waits behind it. */
export class OneAtATime {
  readonly #last = new Map<string, Promise<unknown>>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const turn = before === undefined ? work() : before.then(work, work);
    this.#last.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.#last.get(key) === turn) this.#last.delete(key);
    }
  }
}
