import type { OperationName } from '../connector.ts';
import { type CheckResult, runChecks } from './certify.ts';
import { type CertificationTarget, createEnvironment, type SignedIn } from './environment.ts';
import { lists } from './listChecks.ts';
import { reads } from './readChecks.ts';
import { samples } from './samples.ts';

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
export const all_operations = [
  ...Object.keys(lists),
  ...Object.keys(reads),
  ...Object.keys(samples),
] as OperationName[];

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
