import { EmrFailure } from '../emrFailure.ts';
import { CheckSkipped } from '../operations/operation.ts';
import { behaviorChecks } from './behaviorChecks.ts';
import { declarationChecks } from './declarationChecks.ts';
import {
  type CertificationTarget,
  type Check,
  CheckFailed,
  createEnvironment,
  type Environment,
  errorName,
} from './environment.ts';
import { fieldChecks } from './fieldChecks.ts';
import { listChecks } from './listChecks.ts';
import { readChecks } from './readChecks.ts';
import { signInChecks } from './signInChecks.ts';
import { singleWriteChecks, writeChecks } from './writeChecks.ts';

/** Every check, in the order in which it runs. The last ones examine the failures of all earlier ones. */
const checks: readonly Check[] = [
  ...declarationChecks.filter(({ id }) => id.startsWith('declaration.')),
  ...signInChecks,
  ...declarationChecks.filter(({ id }) => id.startsWith('capabilities.')),
  ...listChecks,
  ...readChecks,
  ...writeChecks,
  ...singleWriteChecks,
  ...fieldChecks,
  ...behaviorChecks,
];

export type CheckResult = {
  check: Check;
  /**
   * `unsupported`: skipped, because the EMR does not have the operation. `refused`: the EMR declared the operation and
   * refused it in use, and the connector reported `not_offered`: the product then no longer offers it.
   */
  outcome: 'passed' | 'failed' | 'skipped' | 'unsupported' | 'refused';
  reason: string;
  took_ms: number;
};

/** The longest check reads a list of 10,000 rows twice. A connector that hangs longer fails. */
const check_ms_max = 180_000;

/** Runs the checks against a connector, one after the other. `only` selects checks, or groups such as `sign_in`. */
export function certify(target: CertificationTarget, only: readonly string[] = []): Promise<CheckResult[]> {
  return runChecks(createEnvironment(target), only);
}

export async function runChecks(env: Environment, only: readonly string[] = []): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  // A person may take longer than a check. The check of the sign-in reports the outcome.
  if (env.signs_in_once) await env.signIn().catch(() => {});
  for (const check of only.length === 0 ? checks : selectChecks(only)) {
    const started_ms = Date.now();
    const result = await runWithLimit(check.run(env));
    results.push({ check, ...result, took_ms: Date.now() - started_ms });
  }
  return results;
}

/** The other checks use the account that this one signs in. */
const sign_in = 'sign_in.success';

function selectChecks(only: readonly string[]): readonly Check[] {
  return checks.filter(({ id }) => id === sign_in || only.some((name) => id === name || id.startsWith(`${name}.`)));
}

async function runWithLimit(work: Promise<void>): Promise<Pick<CheckResult, 'outcome' | 'reason'>> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new CheckFailed(`did not finish within ${check_ms_max / 1000} s`)), check_ms_max);
  });
  try {
    await Promise.race([work, timeout]);
    return { outcome: 'passed', reason: '' };
  } catch (error) {
    if (error instanceof CheckSkipped) {
      return { outcome: error.not_supported ? 'unsupported' : 'skipped', reason: error.message };
    }
    if (error instanceof EmrFailure && error.not_offered) return { outcome: 'refused', reason: error.message };
    return { outcome: 'failed', reason: describeFailure(error) };
  } finally {
    clearTimeout(timer);
  }
}

function describeFailure(error: unknown): string {
  if (error instanceof CheckFailed) return error.message;
  if (error instanceof EmrFailure) return `failed as ${error.kind}: ${error.message}`;
  return `threw ${errorName(error)}`;
}
