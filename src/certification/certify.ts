import { EmrFailure } from '../connectors/connector.ts';
import { behaviorChecks } from './behaviorChecks.ts';
import type { Check } from './check.ts';
import { CheckFailed, CheckSkipped } from './check.ts';
import { declarationChecks } from './declarationChecks.ts';
import { type CertificationTarget, createEnvironment } from './environment.ts';
import { listChecks } from './listChecks.ts';
import { readChecks } from './readChecks.ts';
import { signInChecks } from './signInChecks.ts';
import { writeChecks } from './writeChecks.ts';

export type { Check } from './check.ts';
export type { CertificationTarget } from './environment.ts';

/** What every connector owes, in the order in which it is tried: what is said last looks back at all before it. */
export const contract: readonly Check[] = [
  ...declarationChecks.filter(({ id }) => id.startsWith('declaration.')),
  ...signInChecks,
  ...declarationChecks.filter(({ id }) => id.startsWith('offers.')),
  ...listChecks,
  ...readChecks,
  ...writeChecks,
  ...behaviorChecks,
];

export type CheckResult = { check: Check; outcome: 'kept' | 'broken' | 'not_tried'; reason: string; took_ms: number };

/** A connector that hangs breaks its promise too. The longest honest check reads a list of 10,000 rows twice. */
const check_ms_max = 180_000;

/** Tries every promise, one after the other, and says of each what came of it. */
export async function certify(
  world: CertificationTarget,
  tell: (result: CheckResult) => void = () => {},
): Promise<CheckResult[]> {
  const env = createEnvironment(world);
  const results: CheckResult[] = [];
  for (const check of contract) {
    const began = Date.now();
    const found = await within(check.run(env));
    const result = { check, ...found, took_ms: Date.now() - began };
    results.push(result);
    tell(result);
  }
  return results;
}

async function within(work: Promise<void>): Promise<Pick<CheckResult, 'outcome' | 'reason'>> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new CheckFailed(`it did not end within ${check_ms_max / 1000} s`)), check_ms_max);
  });
  try {
    await Promise.race([work, late]);
    return { outcome: 'kept', reason: '' };
  } catch (error) {
    if (error instanceof CheckSkipped) return { outcome: 'not_tried', reason: error.message };
    return { outcome: 'broken', reason: reasonOf(error) };
  } finally {
    clearTimeout(timer);
  }
}

/** Of an error that is not ours only the kind is told: its text may hold what must not be printed. */
function reasonOf(error: unknown): string {
  if (error instanceof CheckFailed) return error.message;
  if (error instanceof EmrFailure) return `it ended as ${error.kind}: ${error.message}`;
  return `it threw ${error instanceof Error ? error.name : typeof error}`;
}
