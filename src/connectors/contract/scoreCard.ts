import type { Verdict } from '../contract.ts';

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
    ...explained('Broken', told, 'broken'),
    ...explained('Not tried', told, 'not_tried'),
    '',
  ].join('\n');
}

function isNotOffered({ outcome, reason }: Verdict): boolean {
  return outcome === 'not_tried' && reason.startsWith('this EMR does not offer ');
}

function bySubject(verdicts: readonly Verdict[]): Map<string, Verdict[]> {
  const subjects = new Map<string, Verdict[]>();
  for (const verdict of verdicts) {
    const subject = verdict.check.id.split('.')[0] ?? '';
    subjects.set(subject, [...(subjects.get(subject) ?? []), verdict]);
  }
  return subjects;
}

function count(verdicts: readonly Verdict[], outcome: Verdict['outcome']): number {
  return verdicts.filter((verdict) => verdict.outcome === outcome).length;
}

function explained(title: string, verdicts: readonly Verdict[], outcome: Verdict['outcome']): string[] {
  const all = verdicts.filter((verdict) => verdict.outcome === outcome);
  if (all.length === 0) return [];
  const lines = all.map(({ check, reason }) => `  ${check.id}: ${reason}\n      (owed: ${check.promise})`);
  return [title, ...(outcome === 'broken' ? lines : all.map(({ check, reason }) => `  ${check.id}: ${reason}`))];
}
