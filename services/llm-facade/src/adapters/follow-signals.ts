/** A controller that follows several signals until it is released, so that a finished request leaves no listener on a signal that lives on. */
export function followSignals(signals: readonly AbortSignal[]): { readonly controller: AbortController; release(): void } {
  const controller = new AbortController();
  const followed = signals.map((signal) => {
    const follow = (): void => controller.abort(signal.reason);
    signal.addEventListener('abort', follow, { once: true });
    if (signal.aborted) follow();
    return { signal, follow };
  });
  return {
    controller,
    release: () => {
      for (const { signal, follow } of followed) signal.removeEventListener('abort', follow);
    },
  };
}
