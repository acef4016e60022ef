import { nameTakers } from './programs/builtins';
import { isSensitiveName } from './programs/sensitive-names';
import type { Word } from './word';

/** `printf -v 'a[$(cmd)]'`: a name that carries a subscript runs what stands in it. */
export function nameTrap(program: string, words: readonly Word[]): { unknown?: string } {
  if (!nameTakers.has(program)) return {};
  const isTrap = words.slice(1).some((word) => word.value !== null && /\[[^\]]*[$`]/.test(word.value));
  const isAssigner = program !== 'printf' && program !== 'test' && program !== '[';
  if (
    (program === 'mapfile' || program === 'readarray') &&
    words.slice(1).some((word) => word.value === null || /^-[a-zA-Z]*C/.test(word.value))
  )
    return { unknown: 'it runs a command for each line that it reads' };
  if (isTrap) return { unknown: 'a name with a computed subscript runs what stands in it' };
  const named =
    program === 'printf'
      ? words.slice(1).flatMap((word, i, rest) => (rest[i - 1]?.value === '-v' ? [word] : []))
      : isAssigner
        ? words.slice(1)
        : [];
  for (const word of named) {
    if (word.value === null && word.lead === '') return { unknown: 'the name of a variable is only known when it runs' };
    const name = (word.value ?? word.lead ?? '').split('=', 1)[0] ?? '';
    if (isSensitiveName(name)) return { unknown: `sets $${name}, which changes what runs` };
  }
  return {};
}
