/**
 * The Claude program tidies some inputs before anybody is asked, so the gate honestly judges another text than the model wrote (tried with the pinned
 * version; the system test of interception tries each again): it drops `cd <where it is> && `, halves the backslashes of `\\;`, cuts white space at the ends
 * of lines that are written (not in Markdown), makes paths absolute and folds them.
 */
const pathFields: ReadonlySet<string> = new Set(['file_path', 'notebook_path', 'path']);
const formsMax = 8;

type Input = Readonly<Record<string, unknown>>;

/** What the field may have become beside what was written; null when that cannot be foreseen and the field is not compared. */
export function tidiedForms(field: string, input: Input): readonly string[] | null {
  const value = input[field];
  if (pathFields.has(field)) return isPlainPath(value) ? [] : null;
  if (typeof value !== 'string') return [];
  switch (field) {
    case 'command':
      return otherThan(value, tidiedCommands(value));
    case 'content':
      return otherThan(value, isMarkdown(input) ? [] : [withoutLineEnds(value)]);
    case 'old_string':
    case 'new_string':
      if (isShortened(input)) return null;
      return otherThan(value, field === 'new_string' && !isMarkdown(input) ? [withoutLineEnds(value)] : []);
    default:
      return [];
  }
}

function otherThan(value: string, forms: readonly string[]): readonly string[] | null {
  const others = [...new Set(forms)].filter((form) => form !== value);
  return others.length > formsMax ? null : others;
}

/** Where the program is nobody here knows, so any of the places may be the one that it drops. */
function tidiedCommands(command: string): readonly string[] {
  const places = [...command.matchAll(/cd \/[^\n]*? && /g)].map(([place]) => command.replace(place, () => ''));
  return [command, ...places].map((form) => form.replaceAll('\\\\;', '\\;'));
}

const withoutLineEnds = (text: string): string =>
  text
    .split(/(\r\n|\n|\r)/)
    .map((part, index) => (index % 2 === 0 ? part.trimEnd() : part))
    .join('');
const isMarkdown = ({ file_path }: Input): boolean => typeof file_path === 'string' && /\.mdx?$/i.test(file_path);

/** Tags that the program spells out again when the file has them so: `<fnr>`, `<n>`, `< META >`, a turn's `H:`. */
const isShortened = ({ old_string, new_string }: Input): boolean =>
  [old_string, new_string].some((text) => typeof text === 'string' && /<\/?[a-z]{1,3}>|< [A-Z_]+ >|\n\n[HA]:/.test(text));

/** A path about which there is nothing to be changed. */
function isPlainPath(value: unknown): boolean {
  if (typeof value !== 'string' || !value.startsWith('/') || value !== value.trim() || value !== value.normalize('NFC')) return false;
  return value
    .slice(1)
    .split('/')
    .every((segment) => segment !== '' && segment !== '.' && segment !== '..');
}
