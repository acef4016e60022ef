/** What was started, stopped in reverse. One failure does not keep the rest from stopping. */
export class Stops {
  private readonly steps: { readonly name: string; readonly stop: () => Promise<void> }[] = [];
  private stopping: Promise<void> | undefined;

  constructor(private readonly onFailure: (name: string, error: unknown) => void) {}

  add(name: string, stop: () => Promise<void>): void {
    this.steps.push({ name, stop });
  }

  /** The second call waits for the first. */
  stop(): Promise<void> {
    this.stopping ??= this.run();
    return this.stopping;
  }

  private async run(): Promise<void> {
    for (const { name, stop } of this.steps.splice(0).reverse()) {
      try {
        await stop();
      } catch (error) {
        this.onFailure(name, error);
      }
    }
  }
}
