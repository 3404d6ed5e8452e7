import type { CheckResult } from './certify.ts';

const symbols = { passed: '✓', failed: '✗', skipped: '–', unsupported: '', refused: '' } as const;

/** A readable report: one line per subject, then the reasons for failed and skipped checks. */
export function formatReport(name: string, all: readonly CheckResult[]): string {
  const results = all.filter(({ outcome }) => outcome !== 'unsupported' && outcome !== 'refused');
  const unsupported = all.filter(({ outcome }) => outcome === 'unsupported');
  const refused = all.filter(({ outcome }) => outcome === 'refused');
  const [passed, failed, skipped] = (['passed', 'failed', 'skipped'] as const).map((outcome) =>
    results.filter((result) => result.outcome === outcome),
  );
  const took_s = all.reduce((sum, { took_ms }) => sum + took_ms, 0) / 1000;
  return [
    `${name}: ${passed?.length} passed, ${failed?.length} failed, ${skipped?.length} skipped (${took_s.toFixed(1)} s)`,
    ...[...bySubject(results)].map(([subject, group]) => `  ${subject.padEnd(26)}${group.map(mark).join('  ')}`),
    ...(unsupported.length > 0 ? [`  not supported: ${[...bySubject(unsupported).keys()].join(', ')}`] : []),
    ...(refused.length > 0 ? [`  declared, but refused by the EMR: ${[...bySubject(refused).keys()].join(', ')}`] : []),
    ...failedLines(failed ?? []),
    ...skippedLines(skipped ?? []),
    '',
  ].join('\n');
}

function mark({ check, outcome }: CheckResult): string {
  return `${symbols[outcome]} ${check.id.split('.')[1]}`;
}

function bySubject(results: readonly CheckResult[]): Map<string, CheckResult[]> {
  return groupBy(results, ({ check }) => check.id.split('.')[0] ?? '');
}

function groupBy(results: readonly CheckResult[], key: (result: CheckResult) => string): Map<string, CheckResult[]> {
  const groups = new Map<string, CheckResult[]>();
  for (const result of results) groups.set(key(result), [...(groups.get(key(result)) ?? []), result]);
  return groups;
}

function failedLines(results: readonly CheckResult[]): string[] {
  const lines = results.map(({ check, reason }) => `  ${check.id}: ${reason}\n      (expected: ${check.expectation})`);
  return lines.length > 0 ? ['Failed', ...lines] : [];
}

/** Many checks may share a reason. Three of them are shown. */
function skippedLines(results: readonly CheckResult[]): string[] {
  const lines = [...groupBy(results, ({ reason }) => reason)].map(([reason, group]) => {
    const more = group.length > 3 ? ` and ${group.length - 3} more` : '';
    const ids = group.slice(0, 3).map(({ check }) => check.id);
    return `  ${reason}: ${ids.join(', ')}${more}`;
  });
  return lines.length > 0 ? ['Skipped', ...lines] : [];
}
