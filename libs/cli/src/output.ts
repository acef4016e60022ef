// stdout is the result of a command and nothing else; progress and reasons go to stderr.

export const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};
export const printJson = (value: unknown): void => print(JSON.stringify(value));
export const say = (text: string): void => {
  process.stderr.write(`fluidbox: ${text}\n`);
};
