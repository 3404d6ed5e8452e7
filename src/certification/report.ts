import type { Verdict } from './certify.ts';

const signs = { kept: '✓', broken: '✗', not_tried: '–' } as const;

/** What came of every promise, for a person to read: a line for each subject, then what is broken, and why. */
export function scoreCard(name: string, verdicts: readonly Verdict[]): string {
  const told = verdicts.filter((verdict) => !isNotOffered(verdict));
  const lines = [...bySubject(told)].map(
    ([subject, all]) =>
      `  ${subject.padEnd(26)}${all.map(({ check, outcome }) => `${signs[outcome]} ${check.id.split('.')[1]}`).join('  ')}`,
  );
  const absent = [...bySubject(verdicts.filter(isNotOffered)).keys()];
  const took_s = verdicts.reduce((sum, { took_ms }) => sum + took_ms, 0) / 1000;
  return [
    `${name}: ${count(told, 'kept')} promises kept, ${count(told, 'broken')} broken, ${count(told, 'not_tried')} not tried (${took_s.toFixed(1)} s)`,
    ...lines,
    ...(absent.length > 0 ? [`  not offered: ${absent.join(', ')}`] : []),
    ...brokenLines(told),
    ...notTriedLines(told),
    '',
  ].join('\n');
}

function isNotOffered({ outcome, reason }: Verdict): boolean {
  return outcome === 'not_tried' && reason.startsWith('this EMR does not offer ');
}

function bySubject(verdicts: readonly Verdict[]): Map<string, Verdict[]> {
  return groups(verdicts, ({ check }) => check.id.split('.')[0] ?? '');
}

function groups(verdicts: readonly Verdict[], by: (verdict: Verdict) => string): Map<string, Verdict[]> {
  const found = new Map<string, Verdict[]>();
  for (const verdict of verdicts) found.set(by(verdict), [...(found.get(by(verdict)) ?? []), verdict]);
  return found;
}

function count(verdicts: readonly Verdict[], outcome: Verdict['outcome']): number {
  return verdicts.filter((verdict) => verdict.outcome === outcome).length;
}

function brokenLines(verdicts: readonly Verdict[]): string[] {
  const all = verdicts.filter(({ outcome }) => outcome === 'broken');
  const lines = all.map(({ check, reason }) => `  ${check.id}: ${reason}\n      (owed: ${check.promise})`);
  return all.length > 0 ? ['Broken', ...lines] : [];
}

/** One reason often holds for many: three of them show which. */
function notTriedLines(verdicts: readonly Verdict[]): string[] {
  const all = verdicts.filter(({ outcome }) => outcome === 'not_tried');
  const lines = [...groups(all, ({ reason }) => reason)].map(([reason, each]) => {
    const more = each.length > 3 ? ` and ${each.length - 3} more` : '';
    const ids = each.slice(0, 3).map(({ check }) => check.id);
    return `  ${reason}: ${ids.join(', ')}${more}`;
  });
  return all.length > 0 ? ['Not tried', ...lines] : [];
}
