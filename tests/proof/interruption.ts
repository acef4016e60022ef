/** Ctrl-C ends what was started before it ends this process. */
export function stopOnInterruption(stop: () => Promise<void>): { dispose(): void } {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  const end = (): void => {
    void stop().finally(() => process.exit(130));
  };
  for (const signal of signals) process.once(signal, end);
  return {
    dispose: () => {
      for (const signal of signals) process.off(signal, end);
    },
  };
}
