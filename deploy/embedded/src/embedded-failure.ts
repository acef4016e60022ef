/** Something a person can fix: the message says what is wrong and the fix, and is shown without a stack. */
export class EmbeddedFailure extends Error {
  override readonly name = 'EmbeddedFailure';
}
