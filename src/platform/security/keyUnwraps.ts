import { hostname } from 'node:os';
import type { KeyPurpose } from '../../catalog/keyPurposes.ts';
import type { ProcessRole } from '../../catalog/settings/config.ts';
import type { Query, Sql } from '../db/database.ts';

/** Counts of the keys that this process unwraps with a master key. Owns the table `key_unwraps`. */
export type KeyUnwraps = {
  /** Does not wait and never fails. */
  count(purpose: KeyPurpose): void;
  /** Adds what was counted to the table. What cannot be stored stays counted. */
  store(): Promise<void>;
  close(): Promise<void>;
};

/** A process that is killed loses the counts of this time; its metric does not tell either. */
const period_ms = 60_000;
const kept_days = 90;

/** `role`: of the process; command: one of the administration commands. `onError` is called once per run of failures. */
export function openKeyUnwraps(
  system: Sql,
  role: ProcessRole | 'command',
  onError: (error: unknown) => void,
): KeyUnwraps {
  let counted = new Map<KeyPurpose, number>();
  let failing = false;
  const add = (purpose: KeyPurpose, n: number) => void counted.set(purpose, (counted.get(purpose) ?? 0) + n);
  const store = async () => {
    if (counted.size === 0) return;
    const batch = counted;
    counted = new Map();
    try {
      await addUnwraps(system, role, batch);
      failing = false;
    } catch (error) {
      for (const [purpose, n] of batch) add(purpose, n);
      if (!failing) onError(error);
      failing = true;
    }
  };
  let storing = Promise.resolve();
  const storeNext = () => {
    storing = storing.then(store);
    return storing;
  };
  const timer = setInterval(storeNext, period_ms).unref();
  return {
    count: (purpose) => add(purpose, 1),
    store: storeNext,
    close: async () => {
      clearInterval(timer);
      await storeNext();
    },
  };
}

/** In one order, so that two processes of a host never wait for each other. */
async function addUnwraps(system: Sql, role: string, counted: ReadonlyMap<KeyPurpose, number>): Promise<void> {
  const entries = [...counted].sort(([one], [other]) => (one < other ? -1 : 1));
  const purposes = entries.map(([purpose]) => purpose);
  const counts = entries.map(([, n]) => n);
  await system.pooled`
    INSERT INTO key_unwraps (day, host, role, purpose, unwraps)
    SELECT (now() AT TIME ZONE 'UTC')::date, ${hostname()}, ${role}, purpose, n
      FROM unnest(${purposes}::text[], ${counts}::bigint[]) AS counted (purpose, n)
    ON CONFLICT (day, host, role, purpose) DO UPDATE SET unwraps = key_unwraps.unwraps + excluded.unwraps`;
  await system.pooled`DELETE FROM key_unwraps WHERE day < (now() AT TIME ZONE 'UTC')::date - ${kept_days}::int`;
}

/** How many keys a process unwrapped for a purpose: today (UTC), and in the last 30 days with today. */
export type UnwrapCount = { host: string; role: string; purpose: string; today: number; last_30_days: number };

export async function listUnwraps(system: Query): Promise<UnwrapCount[]> {
  return system<UnwrapCount[]>`
    SELECT host, role, purpose, last_30_days::float8, today::float8
      FROM (SELECT host, role, purpose, sum(unwraps) AS last_30_days,
                   coalesce(sum(unwraps) FILTER (WHERE day = (now() AT TIME ZONE 'UTC')::date), 0) AS today
              FROM key_unwraps WHERE day > (now() AT TIME ZONE 'UTC')::date - 30
             GROUP BY host, role, purpose) AS counts
     ORDER BY host, role, purpose`;
}
