import { list_names, type OperationName, read_names, write_names } from '../operations/operations.ts';
import { type CheckResult, runChecks } from './certify.ts';
import { type CertificationTarget, createEnvironment, type SignedIn } from './environment.ts';

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

/**
 * What is known about an operation after a certification. `works`: offered, and every check passed. `offered`: no check
 * could use it here, for the reason in `text`. `refused`: the EMR refused it, and the account does not offer it (any
 * more). `fails`: offered, and a check failed, which no score card that is published may contain.
 */
export type OperationScore = { state: 'works' | 'offered' | 'refused' | 'not_offered' | 'fails'; text?: string };

export type ScoreCard = {
  checks: { passed: number; failed: number; skipped: number };
  /** The failed checks with their reasons. */
  failed: string[];
  operations: Record<string, OperationScore>;
};

/** Every operation of the interface. */
export const all_operations: readonly OperationName[] = [...list_names, ...read_names, ...write_names];

/** Certifies a connector at one EMR and reports it by operation. */
export async function scoreCard(target: CertificationTarget): Promise<ScoreCard> {
  const env = createEnvironment(target);
  const results = await runChecks(env);
  const signed_in = await env.signIn();
  const count = (outcome: CheckResult['outcome']) => results.filter((each) => each.outcome === outcome).length;
  const offered = signed_in.capabilities ?? target.connector.capabilities;
  const implemented = all_operations.filter((name) => target.connector.capabilities.includes(name));
  return {
    checks: { passed: count('passed'), failed: count('failed'), skipped: count('skipped') },
    failed: results.filter(({ outcome }) => outcome === 'failed').map(({ check, reason }) => `${check.id}: ${reason}`),
    operations: Object.fromEntries(
      implemented.map((name) => [
        name,
        offered.includes(name) ? scoreOperation(name, results) : scoreUnoffered(name, signed_in),
      ]),
    ),
  };
}

const symbols = { passed: '✓', failed: '✗', skipped: '–', unsupported: '', refused: '' } as const;

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

function scoreOperation(name: OperationName, all: readonly CheckResult[]): OperationScore {
  const results = all.filter(({ check }) => check.id.startsWith(`${name}.`));
  const findReason = (outcome: CheckResult['outcome']) => results.find((each) => each.outcome === outcome)?.reason;
  const [failed, refused] = [findReason('failed'), findReason('refused')];
  if (failed !== undefined) return { state: 'fails', text: failed };
  if (refused !== undefined) return { state: 'refused', text: refused };
  if (findReason('passed') !== undefined) return { state: 'works' };
  return { state: 'offered', text: findReason('skipped') ?? findReason('unsupported') ?? 'no check' };
}

function scoreUnoffered(name: OperationName, { evidence = [] }: SignedIn): OperationScore {
  const refused = evidence.find(({ capability, state }) => capability === name && state === 'refused');
  return refused
    ? { state: 'refused', text: refused.detail ?? 'refused when the account was linked' }
    : { state: 'not_offered' };
}
