/**
 * Many deadlines, one timer. Keys are unique: setting one again moves it. The clock is the caller's, so that a test decides what is due;
 * the timer only says when to look, and looks at least once an hour (a machine may sleep, and a clock may be set).
 */
export class TimerHeap<K> {
  readonly #heap: { readonly key: K; readonly at: number }[] = [];
  readonly #at = new Map<K, number>();
  #timer: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor(
    private readonly now: () => number,
    private readonly fire: (key: K) => void,
  ) {}

  get size(): number {
    return this.#at.size;
  }

  set(key: K, at: number): void {
    if (this.#stopped || this.#at.get(key) === at) return;
    this.#at.set(key, at);
    this.#push({ key, at });
    this.#arm();
  }

  delete(key: K): void {
    this.#at.delete(key);
  }

  /** Fires everything that is due now; each key once. */
  poll(): void {
    const now = this.now();
    for (let next = this.#peek(); next !== undefined && next.at <= now; next = this.#peek()) {
      this.#pop();
      this.#at.delete(next.key);
      this.fire(next.key);
    }
    this.#arm();
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#heap.length = 0;
    this.#at.clear();
  }

  /** The earliest entry that still stands; moved and deleted ones are dropped on the way. */
  #peek(): { readonly key: K; readonly at: number } | undefined {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (this.#at.get(first.key) === first.at) return first;
      this.#pop();
    }
    return undefined;
  }

  #arm(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const next = this.#stopped ? undefined : this.#peek();
    if (next === undefined) return;
    const wait = Math.min(Math.max(next.at - this.now(), 0), 3_600_000);
    this.#timer = setTimeout(() => this.poll(), wait);
    this.#timer.unref();
  }

  #push(entry: { readonly key: K; readonly at: number }): void {
    const heap = this.#heap;
    let index = heap.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (this.#timeAt(parent) <= entry.at) break;
      this.#swap(index, parent);
      index = parent;
    }
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    for (let index = 0; ; ) {
      const left = index * 2 + 1;
      if (left >= heap.length) return;
      const smaller = this.#timeAt(left + 1) < this.#timeAt(left) ? left + 1 : left;
      if (this.#timeAt(smaller) >= this.#timeAt(index)) return;
      this.#swap(index, smaller);
      index = smaller;
    }
  }

  #timeAt(index: number): number {
    return this.#heap[index]?.at ?? Number.POSITIVE_INFINITY;
  }

  #swap(a: number, b: number): void {
    const one = this.#heap[a];
    const two = this.#heap[b];
    if (one === undefined || two === undefined) return;
    this.#heap[a] = two;
    this.#heap[b] = one;
  }
}
