interface Heard {
  handledUpTo: number;
  ranges: { readonly first: number; readonly last: number }[];
}

/** Which events the log has told of, by stream, until they have been looked at. Bounded: a forgotten stream is only published once more. */
export class HeardRanges {
  readonly #streams = new Map<string, Heard>();

  constructor(private readonly streamsMax: number) {}

  hear(stream: string, first: number, last: number): void {
    const heard = this.#streams.get(stream) ?? { handledUpTo: 0, ranges: [] };
    if (last <= heard.handledUpTo) return;
    heard.ranges.push({ first, last });
    this.#keep(stream, heard);
  }

  covers(stream: string, seq: number): boolean {
    const heard = this.#streams.get(stream);
    return heard !== undefined && (seq <= heard.handledUpTo || heard.ranges.some((range) => range.first <= seq && seq <= range.last));
  }

  handled(stream: string, upTo: number): void {
    const heard = this.#streams.get(stream) ?? { handledUpTo: 0, ranges: [] };
    heard.handledUpTo = Math.max(heard.handledUpTo, upTo);
    heard.ranges = heard.ranges.filter((range) => range.last > heard.handledUpTo);
    this.#keep(stream, heard);
  }

  #keep(stream: string, heard: Heard): void {
    this.#streams.delete(stream);
    this.#streams.set(stream, heard);
    const oldest = this.#streams.size > this.streamsMax ? this.#streams.keys().next().value : undefined;
    if (oldest !== undefined) this.#streams.delete(oldest);
  }
}

/** Consecutive seqs that nobody spoke of. */
export function unheardRanges(seqs: readonly number[], isHeard: (seq: number) => boolean): { first: number; last: number }[] {
  const ranges: { first: number; last: number }[] = [];
  for (const seq of [...seqs].sort((a, b) => a - b)) {
    if (isHeard(seq)) continue;
    const last = ranges.at(-1);
    if (last !== undefined && last.last === seq - 1) last.last = seq;
    else ranges.push({ first: seq, last: seq });
  }
  return ranges;
}
