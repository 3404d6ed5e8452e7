import { apiError } from '../../catalog/errors.ts';
import type { Config } from '../../catalog/settings/config.ts';
import type { Query, Tx } from '../../platform/db/database.ts';

/**
 * The kinds of data that are deleted after a period: what they are, the setting with the period of the installation, and
 * the longest period that a client can have. The request log has one table per day, for all clients.
 */
export const retained_data = {
  events: { label: 'Events, payloads and delivery attempts', setting: 'EVENT_DAYS', days_max: 30 },
  job_inputs: { label: 'Requests and timelines of finished jobs', setting: 'JOB_INPUT_DAYS', days_max: 3_650 },
  unlinked_records: {
    label: 'Cached records of a practice without linked accounts',
    setting: 'UNLINKED_DAYS',
    days_max: 3_650,
  },
  requests: { label: 'Request log', setting: 'REQUESTS_DAYS', days_max: undefined },
} as const;
export type RetainedData = keyof typeof retained_data;

// Object.keys() loses the type of a literal's keys.
export const retained_kinds = Object.keys(retained_data) as RetainedData[];

/** The period of a kind of data for a client. `own_days`: null if it is that of the installation. */
export type RetentionPeriod = {
  data: RetainedData;
  label: string;
  days: number;
  own_days: number | null;
  installation_days: number;
  days_max: number;
};

export type PeriodChanges = Partial<Record<RetainedData, number | null>>;

export function installationDays(config: Config, data: RetainedData): number {
  const days = {
    events: config.event_days,
    job_inputs: config.job_input_days,
    unlinked_records: config.unlinked_days,
    requests: config.requests_days,
  };
  return days[data];
}

export async function readPeriods(sql: Query, config: Config, client_id: string): Promise<RetentionPeriod[]> {
  const own = await readOwnDays(sql, client_id);
  return retained_kinds.map((data) => {
    const { label, days_max } = retained_data[data];
    const installation_days = installationDays(config, data);
    const longest = days_max ?? installation_days;
    const own_days = own.get(data) ?? null;
    // A setting that was lowered since limits the client's own period too.
    const days = own_days === null ? installation_days : Math.min(own_days, longest);
    return { data, label, days, own_days, installation_days, days_max: longest };
  });
}

/** Whether a change deletes earlier what is stored already. */
export async function shortensPeriods(
  sql: Query,
  config: Config,
  { client_id, changes }: { client_id: string; changes: PeriodChanges },
): Promise<boolean> {
  const periods = await readPeriods(sql, config, client_id);
  return periods.some(({ data, days, installation_days }) => {
    const changed = changes[data];
    return changed !== undefined && (changed ?? installation_days) < days;
  });
}

/** The periods that a client has of its own, in days. */
export async function readOwnDays(sql: Query, client_id: string): Promise<ReadonlyMap<RetainedData, number>> {
  const rows = await sql<{ data: RetainedData; days: number }[]>`
    SELECT data, days FROM retention_periods WHERE client_id = ${client_id}`;
  return new Map(rows.map(({ data, days }) => [data, days]));
}

/** Sets the given periods; null returns to that of the installation. Throws if one is outside of its limits. */
export async function setPeriods(
  tx: Tx,
  config: Config,
  client_id: string,
  { changes, changed_by }: { changes: PeriodChanges; changed_by: string },
): Promise<RetentionPeriod[]> {
  for (const data of retained_kinds) {
    const days = changes[data];
    if (days === undefined) continue;
    const days_max = retained_data[data].days_max ?? installationDays(config, data);
    if (days !== null && !(Number.isInteger(days) && days >= 1 && days <= days_max)) {
      const rule = `${data} must be a whole number of days from 1 to ${days_max}`;
      throw apiError('invalid_field', { rule }, { field: data });
    }
    if (days === null) await tx`DELETE FROM retention_periods WHERE client_id = ${client_id} AND data = ${data}`;
    else {
      await tx`INSERT INTO retention_periods (client_id, data, days, changed_by)
        VALUES (${client_id}, ${data}, ${days}, ${changed_by})
        ON CONFLICT (client_id, data) DO UPDATE SET days = excluded.days, changed_by = excluded.changed_by,
          changed_at = now()`;
    }
  }
  return readPeriods(tx, config, client_id);
}
