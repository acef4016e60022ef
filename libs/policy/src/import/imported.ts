import type { PolicyDocumentInput, Verdict } from '@fluidbox/contracts';
import { PolicyDocument } from '@fluidbox/contracts';
import { stringify } from 'yaml';
import { compilePolicy } from '../compile';
import { type ParsedPolicy, parsePolicy } from '../document';
import { evaluate } from '../evaluate';
import { noHistory } from '../history/judge';

/** What became of an entry that our language cannot say in the same words. */
export interface ImportNote {
  /** The entry as it stands in the source. */
  readonly entry: string;
  /**
   * `stricter`: more is asked or denied than there. `dropped`: left out, so what it named falls to a stricter answer or is nothing that
   * a policy decides. `wider`: a refusal could not be carried over; nobody may overlook it.
   */
  readonly outcome: 'stricter' | 'dropped' | 'wider';
  readonly why: string;
}
export interface ImportedPolicy {
  /** YAML of a valid document. */
  readonly source: string;
  readonly notes: readonly ImportNote[];
}
export type Imported = { readonly ok: true; readonly policy: ImportedPolicy } | { readonly ok: false; readonly problem: string };

export type Rule = NonNullable<PolicyDocumentInput['tools']>[number];
export type Sample = { readonly tool: string; readonly input: Record<string, unknown>; readonly atLeast: Verdict; readonly entry: string };

const rank: Record<Verdict, number> = { allow: 0, ask: 1, deny: 2 };
const testsMax = 512;

/**
 * Writes the document, with a test for each entry that shows what it decides now. An entry that came out looser than it was there is
 * said; it never passes in silence.
 */
export function finish(document: PolicyDocumentInput, samples: readonly Sample[], notes: readonly ImportNote[], from: string): Imported {
  const parsedInput = PolicyDocument.safeParse(document);
  if (!parsedInput.success)
    return {
      ok: false,
      problem: parsedInput.error.issues.map((issue) => `${issue.path.map(String).join('.')}: ${issue.message}`).join('; '),
    };
  let policy: ReturnType<typeof compilePolicy>;
  try {
    policy = compilePolicy(parsedInput.data);
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
  const found: ImportNote[] = [];
  const tests = samples.slice(0, testsMax).map(({ tool, input, atLeast, entry }) => {
    const { verdict } = evaluate(policy, { tool, input }, noHistory);
    if (rank[verdict] < rank[atLeast])
      found.push({ entry, outcome: 'wider', why: `it was ${atLeast} there, and ${JSON.stringify(input)} is ${verdict} here` });
    return { tool, input, expect: verdict };
  });
  const source = `# Imported from ${from}. Read the notes of the import before you publish it.\n${stringify({ ...document, tests }, { lineWidth: 140, aliasDuplicateObjects: false })}`;
  const parsed: ParsedPolicy = parsePolicy(source);
  if (!parsed.ok) return { ok: false, problem: parsed.problems.map(({ path, message }) => `${path} ${message}`).join('; ') };
  return { ok: true, policy: { source, notes: [...notes, ...found] } };
}

/** A word as it is written in an entry of a shell list. */
export const quoted = (token: string): string => (/^[A-Za-z0-9_@%+=:,./-]+$/.test(token) ? token : `'${token.replaceAll("'", `'\\''`)}'`);

/** A pattern text for exactly this text. */
export const literalPattern = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
export const unique = (list: readonly string[]): string[] => [...new Set(list)];
