/** How a runner process ends. Only 0 means that the contract was kept to its end (a result was stored, or quiesce obeyed). */
export const exitCodes = {
  done: 0,
  crashed: 1,
  missingEnvironment: 2,
  wrongAudience: 3,
  tokenHandOffFailed: 4,
  undecidedToolCall: 5,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Ends the runner with a code of its own and without a result. */
export class RunnerExit extends Error {
  override readonly name = 'RunnerExit';
  constructor(
    readonly exitCode: ExitCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
