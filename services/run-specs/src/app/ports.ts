import type { PolicyDocument, PriceTable } from '@fluidbox/contracts';
import type { Ledger } from '@fluidbox/event-store';
import type { Clock } from '@fluidbox/service-kit';

/** What the use cases of this service need from outside. */
export interface Ports {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly names: NameDirectory;
  readonly policies: PolicyParser;
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
  parse(
    source: string,
  ):
    | { readonly ok: true; readonly document: PolicyDocument; readonly digest: string }
    | { readonly ok: false; readonly problems: readonly string[] };
  failedTests(document: PolicyDocument): readonly string[];
}
