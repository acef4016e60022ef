import { endOnInterruption } from './interruption';
import { type StackChoice, type SystemStack, startSystemStack } from './stack';

/** A stack for the duration of `work`, for commands; it ends also when the command is interrupted while it starts. */
export async function withSystemStack<T>(choice: StackChoice, work: (stack: SystemStack) => Promise<T>): Promise<T> {
  const starting = startSystemStack(choice);
  const forget = endOnInterruption(() => starting.then((stack) => stack.stop()));
  const stack = await starting;
  try {
    return await work(stack);
  } finally {
    await stack.stop();
    forget();
  }
}
