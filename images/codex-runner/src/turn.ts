import type { ReportedEvent } from '@fluidbox/contracts';
import type { EndOfRun } from './outcome';
import { type FileChange, type Item, ItemNotice, type RawItem, RawItemNotice, TurnCompleted, TurnStarted } from './protocol';
import { completedEvent } from './tool-events';
import type { Violation, Witness } from './witness';

/** What a notification of the program means for the run. */
export type Seen =
  | { readonly kind: 'event'; readonly event: ReportedEvent }
  | { readonly kind: 'violation'; readonly violation: Violation }
  /** An answer of the model is whole and more will follow, because it made calls. */
  | { readonly kind: 'goes_on'; readonly answers: number };

/** The one turn of the run, as the program's notifications tell it. */
export class Turn {
  threadId: string | undefined;
  id: string | undefined;
  lastMessage = '';
  /** Null: the program ended before its turn did. */
  readonly ended: Promise<EndOfRun['turn']>;
  #end: (turn: EndOfRun['turn']) => void = () => undefined;
  readonly #changes = new Map<string, readonly FileChange[]>();
  readonly #witness: Witness;
  #answers = 0;
  #callsOfAnswer = 0;
  #isStopped = false;

  constructor(witness: Witness) {
    this.#witness = witness;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** We end it: calls that were not decided yet come back as `aborted`. */
  stopped(): void {
    this.#isStopped = true;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  programEnded(): void {
    this.#end(null);
  }

  /** What a patch wants to change; the program reports it before it asks. */
  changesOf(callId: string): readonly FileChange[] {
    return this.#changes.get(callId) ?? [];
  }

  /** Throws when a notification is not as expected: then nothing that follows could be judged. */
  observe(method: string, params: unknown): readonly Seen[] {
    switch (method) {
      case 'turn/started':
        this.id = TurnStarted.parse(params).turn.id;
        return [];
      case 'item/started':
        return this.#started(ItemNotice.parse(params).item);
      case 'item/completed':
        return this.#completed(ItemNotice.parse(params).item);
      case 'rawResponseItem/completed':
        return this.#streamed(RawItemNotice.parse(params).item);
      case 'rawResponse/completed':
        return this.#answered();
      case 'turn/completed': {
        const { threadId, turn } = TurnCompleted.parse(params);
        if (threadId === this.threadId) this.#end({ status: turn.status, error: turn.error?.message ?? null });
        return [];
      }
      default:
        return [];
    }
  }

  #started({ id, changes }: Item): readonly Seen[] {
    if (changes !== undefined) this.#changes.set(id, changes);
    return [];
  }

  #completed(item: Item): readonly Seen[] {
    const violation = this.#witness.completed(item);
    if (violation !== undefined) return [{ kind: 'violation', violation }];
    const text = item.type === 'agentMessage' ? (item.text ?? '') : '';
    if (text.trim() !== '') {
      this.lastMessage = text;
      return [{ kind: 'event', event: { type: 'agent.message', data: { role: 'assistant', text } } }];
    }
    const event = completedEvent(item, this.#witness.decidedAs(item.id));
    return event === undefined ? [] : [{ kind: 'event', event }];
  }

  #streamed(item: RawItem): readonly Seen[] {
    if (item.type.endsWith('_call')) this.#callsOfAnswer += 1;
    const violation = this.#witness.streamed(item);
    return violation === undefined || this.#isStopped ? [] : [{ kind: 'violation', violation }];
  }

  #answered(): readonly Seen[] {
    this.#answers += 1;
    const goesOn = this.#callsOfAnswer > 0;
    this.#callsOfAnswer = 0;
    return goesOn ? [{ kind: 'goes_on', answers: this.#answers }] : [];
  }
}
