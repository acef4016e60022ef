import type { SignedHead } from './sign-checkpoint';

/** Somebody outside of our own database who keeps heads: whoever rewrites the record there cannot rewrite theirs. JetStream today; a webhook and a check on the forge are others. */
export interface Witness {
  readonly name: string;
  /** At least once for each head; must not throw for what the witness itself may mend later, and must not wait for long: signing goes on meanwhile. */
  readonly tell: (head: SignedHead) => void;
}

/** One witness that fails keeps the head from no other. */
export const tellAll =
  (witnesses: readonly Witness[], onFailure: (witness: string, error: unknown) => void) =>
  (head: SignedHead): void => {
    for (const { name, tell } of witnesses) {
      try {
        tell(head);
      } catch (error) {
        onFailure(name, error);
      }
    }
  };
