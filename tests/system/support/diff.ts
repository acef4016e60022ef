/** Lines that a diff adds, by file. */
export function addedLines(diff: string): Map<string, string[]> {
  const files = new Map<string, string[]>();
  let current: string[] = [];
  for (const line of diff.split('\n')) {
    const file = /^\+\+\+ b\/(.*?)\t?$/.exec(line)?.[1];
    if (file !== undefined) {
      current = [];
      files.set(file, current);
    } else if (line.startsWith('+')) current.push(line.slice(1));
  }
  return files;
}
