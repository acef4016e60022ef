type CleanUp = () => Promise<unknown>;

const cleanUps = new Set<CleanUp>();
let listening = false;

/** Outside jest nobody calls afterAll: what was started ends before an interrupted process does. Answers how to forget it again. */
export function endOnInterruption(cleanUp: CleanUp): () => void {
  cleanUps.add(cleanUp);
  if (!listening) {
    listening = true;
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => void endAll());
  }
  return () => cleanUps.delete(cleanUp);
}

async function endAll(): Promise<never> {
  await Promise.allSettled([...cleanUps].map((cleanUp) => cleanUp()));
  process.exit(130);
}
