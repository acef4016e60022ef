import type { PolicyCheck, PolicyDocument, PriceTable } from '@fluidbox/contracts';
import type { Ledger } from '@fluidbox/event-store';
import type { RecordedCall } from '@fluidbox/policy';
import type { Clock, Ids } from '@fluidbox/service-kit';

/** What the use cases of this service need from outside. */
export interface Ports {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly names: NameDirectory;
  readonly policies: PolicyParser;
  readonly history: CallHistory;
  readonly prices: { readonly table: PriceTable; readonly bytes: Buffer; readonly digest: string };
  /** Digest of a built runner image, or undefined when there is none. Read anew each time: an image may be built while we run. */
  readonly runnerDigest: (image: string) => string | undefined;
  /** Whether a workspace may be read from this folder of the machine. */
  readonly allowsSource: (folder: string) => boolean;
}

/** The names of each organisation, for lists. Only names: every decision reads the stream itself. */
export interface NameDirectory {
  list(org: string, category: 'agent' | 'policy'): Promise<readonly string[]>;
}

/** Strict parsing of what a person wrote; every problem is a sentence that starts with its place. */
export interface PolicyParser {
  parse(source: string):
    | {
        readonly ok: true;
        readonly document: PolicyDocument;
        readonly digest: string;
        readonly ruleLines: readonly number[];
        readonly namePlace: { readonly line: number; readonly column: number };
      }
    | { readonly ok: false; readonly problems: readonly string[] };
  failedTests(document: PolicyDocument): readonly string[];
  /** Everything that is wrong or without effect, for whoever writes it. */
  check(source: string): PolicyCheck;
}

/** The calls that runs of an organisation made, as policy looked at them then. Reads only. */
export interface CallHistory {
  /** Newest runs first, the calls of each in their order from its first one on; pages, so that memory does not grow with the history. */
  read(
    org: string,
    wanted: { readonly calls: number; readonly since: Date | null; readonly ofPolicy: string | null },
    seen: HistorySeen,
  ): AsyncIterable<RecordedCall>;
}
/** What the reader met on its way. */
export interface HistorySeen {
  runs: number;
  erased: number;
  unreadable: number;
  /** False when its time was up before all that was asked for was read. */
  complete: boolean;
}
