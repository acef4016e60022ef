import type { Finding, FindingStatus } from './finding';

const labels: Readonly<Record<FindingStatus, string>> = { ok: 'ok     ', warn: 'warn   ', missing: 'MISSING' };

export const isHealthy = (findings: readonly Finding[]): boolean => findings.every(({ status }) => status !== 'missing');

export function reportLines(findings: readonly Finding[]): string[] {
  const lines = findings.flatMap(({ name, status, found, fix }) => [
    `${labels[status]} ${name}: ${found}`,
    ...(fix === undefined ? [] : [`        fix: ${fix}`]),
  ]);
  const count = findings.filter(({ status }) => status === 'missing').length;
  return [
    ...lines,
    count === 0 ? 'everything required is there' : `${count} required ${count === 1 ? 'thing is' : 'things are'} missing or wrong`,
  ];
}
