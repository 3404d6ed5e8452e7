import type { MixedResult } from './run.ts';

/** What a mixed run says about each promise, as shown in the report. */
export function mixedFigures(result: MixedResult): Record<number, string> {
  const { faults, invariants } = result;
  const writes = sum(Object.values(result.acknowledged));
  const caused = (...names: string[]) => sum(names.map((name) => faults[name] ?? 0));
  const checked = (name: string) => number(invariants.find((each) => each.name.startsWith(name))?.checked ?? 0);
  const { received, failed } = result.webhook_attempts;
  const share = Math.round((100 * failed) / Math.max(1, received));
  const details: Record<number, string> = {
    1: `${caused('worker killed')} kills, ${number(writes)} writes; abandoned work resumed ${within(result.resumed_ms)}`,
    3: `${caused('API killed')} kills of the API, ${number(writes)} keys`,
    4: `${caused('database stopped (fast)', 'database stopped (immediate)')} restarts, ${caused('database connections cut')} times connections cut; writes back ${within(result.database_back_ms)}`,
    5: `${caused('database stopped (immediate)')} kills of the embedded database`,
    6: `${caused('worker frozen past its lease')} workers frozen`,
    7: `${caused('EMR failing')} series of faults, ${caused('EMR killed')} kills of the EMR, ${checked('every failure')} failures`,
    8: `${caused('EMR links expired')} times all links expired, ${result.relinked} accounts re-linked`,
    10: `${checked('the writes of a patient')} writes in the EMR`,
    11: `${checked('every delivery that')} deliveries; receivers failed ${number(failed)} of ${number(received)} attempts (${share} %); ${caused('receiver flapping')} times a receiver flapped`,
    43: `${checked('a refresh token')} renewals of rotating refresh tokens, ${caused('access tokens ended')} times all access tokens ended, ${caused('account re-linked while its jobs run')} re-links during jobs, ${result.interrupted_renewals} renewals interrupted by a kill`,
    44: `${checked('a read after an event')} reads after events, ${number(result.syncs)} syncs`,
    45: `${checked('no EMR received')} tokens and codes at 2 EMRs, ${checked('every write was sent as')} writes of 3 EMR users`,
    18: `${number(result.log_bytes)} bytes of logs searched for the texts of all writes`,
    19: `${caused('master key rotated')} rotations, ${result.rewrapped_keys} keys re-wrapped`,
    25: `${checked('every finished job has its audit')} jobs; chain verified`,
    42: `${result.run_again} jobs run again, ${result.relinked} accounts re-linked`,
  };
  return Object.fromEntries(
    Object.entries(details).map(([row, text]) => [row, `${text}: ${violations(result, Number(row))} violations`]),
  );
}

/** Problems outside the invariants, such as a broken audit chain or data of a patient in a log. */
const problem_rows: Record<number, RegExp> = {
  1: /was resumed/,
  4: /were accepted again/,
  18: /data of a patient/,
  25: /audit log/,
};

function violations({ invariants, problems }: MixedResult, row: number): number {
  const pattern = problem_rows[row];
  const matching = pattern ? problems.filter((problem) => pattern.test(problem)).length : 0;
  return matching + sum(invariants.filter(({ rows }) => rows.includes(row)).map((each) => each.violations));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}

/** The longest of the times that were measured without another outage at the same time. */
function within(times_ms: readonly number[]): string {
  if (times_ms.length === 0) return 'after a time that was not measured, because outages overlapped';
  return `within ${(Math.max(...times_ms) / 1000).toFixed(1)} s (${times_ms.length} measured)`;
}
