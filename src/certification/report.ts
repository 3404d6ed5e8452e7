import type { CheckResult } from './certify.ts';

const signs = { kept: '✓', broken: '✗', not_tried: '–' } as const;

/** What came of every promise, for a person to read: a line for each subject, then what is broken, and why. */
export function formatReport(name: string, results: readonly CheckResult[]): string {
  const told = results.filter((result) => !isNotOffered(result));
  const lines = [...bySubject(told)].map(
    ([subject, all]) =>
      `  ${subject.padEnd(26)}${all.map(({ check, outcome }) => `${signs[outcome]} ${check.id.split('.')[1]}`).join('  ')}`,
  );
  const absent = [...bySubject(results.filter(isNotOffered)).keys()];
  const took_s = results.reduce((sum, { took_ms }) => sum + took_ms, 0) / 1000;
  return [
    `${name}: ${count(told, 'kept')} promises kept, ${count(told, 'broken')} broken, ${count(told, 'not_tried')} not tried (${took_s.toFixed(1)} s)`,
    ...lines,
    ...(absent.length > 0 ? [`  not offered: ${absent.join(', ')}`] : []),
    ...brokenLines(told),
    ...notTriedLines(told),
    '',
  ].join('\n');
}

function isNotOffered({ outcome, reason }: CheckResult): boolean {
  return outcome === 'not_tried' && reason.startsWith('this EMR does not offer ');
}

function bySubject(results: readonly CheckResult[]): Map<string, CheckResult[]> {
  return groups(results, ({ check }) => check.id.split('.')[0] ?? '');
}

function groups(results: readonly CheckResult[], by: (result: CheckResult) => string): Map<string, CheckResult[]> {
  const found = new Map<string, CheckResult[]>();
  for (const result of results) found.set(by(result), [...(found.get(by(result)) ?? []), result]);
  return found;
}

function count(results: readonly CheckResult[], outcome: CheckResult['outcome']): number {
  return results.filter((result) => result.outcome === outcome).length;
}

function brokenLines(results: readonly CheckResult[]): string[] {
  const all = results.filter(({ outcome }) => outcome === 'broken');
  const lines = all.map(({ check, reason }) => `  ${check.id}: ${reason}\n      (owed: ${check.promise})`);
  return all.length > 0 ? ['Broken', ...lines] : [];
}

/** One reason often holds for many: three of them show which. */
function notTriedLines(results: readonly CheckResult[]): string[] {
  const all = results.filter(({ outcome }) => outcome === 'not_tried');
  const lines = [...groups(all, ({ reason }) => reason)].map(([reason, each]) => {
    const more = each.length > 3 ? ` and ${each.length - 3} more` : '';
    const ids = each.slice(0, 3).map(({ check }) => check.id);
    return `  ${reason}: ${ids.join(', ')}${more}`;
  });
  return all.length > 0 ? ['Not tried', ...lines] : [];
}
