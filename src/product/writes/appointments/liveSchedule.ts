import { apiError } from '../../../catalog/errors.ts';
import type { ScheduleDays } from '../../../emr/operations/appointments.ts';
import { splitList } from '../../../model/fields.ts';
import type { AvailabilityFetchRequest } from '../../../model/requests/liveSchedule.ts';
import { isScheduleDay, schedule_day_rule } from '../../../model/scheduleDays.ts';
import type { Database } from '../../../platform/db/database.ts';
import { daysBetween, isDate } from '../../../platform/time/days.ts';
import { referenceError, type Scope } from '../../records/readRecords.ts';

const providers_max = 10;
/** Of one provider. Of several, a fetch reads one day. */
const provider_days_max = 5;

type DayRules = { days_max?: number | undefined; provider_ids?: readonly string[] | undefined };
type SentDays = { start_date?: string | undefined; end_date?: string | undefined };

/** The days of a live fetch, with the messages of the interface. */
export function readDays({ start_date, end_date }: SentDays, { days_max, provider_ids }: DayRules = {}): ScheduleDays {
  if (start_date === undefined || end_date === undefined) {
    throw invalid(
      start_date === undefined ? 'start_date' : 'end_date',
      'Missing required parameters: start_date, end_date.',
    );
  }
  const malformed = Object.entries({ start_date, end_date }).find(([, day]) => !isDate(day));
  if (malformed) throw invalid(malformed[0], 'Invalid date format. Use ISO format (YYYY-MM-DD).');
  const beyond = Object.entries({ start_date, end_date }).find(([, day]) => !isScheduleDay(day));
  if (beyond) throw invalid(beyond[0], `${beyond[0]} ${schedule_day_rule}`);
  const days = daysBetween(start_date, end_date) + 1;
  if (days < 1) throw invalid('end_date', 'end_date must be after start_date.');
  if (days_max !== undefined && days > days_max)
    throw invalid('end_date', `Date range cannot exceed ${days_max} days.`);
  if (provider_ids) checkProviderDays(days, provider_ids.length);
  return { from: start_date, to: end_date };
}

function checkProviderDays(days: number, providers: number): void {
  if (providers > 1 && days > 1) throw invalid('end_date', 'Date range cannot exceed 1 day for several providers.');
  if (days > provider_days_max) {
    throw invalid('end_date', `Date range cannot exceed ${provider_days_max} days for one provider.`);
  }
}

/** The distinct provider ids of a request, as a list or separated by commas. */
export function readProviderIds(sent: AvailabilityFetchRequest['provider_ids'] | undefined): string[] {
  if (sent === undefined) throw apiError('missing_field', { field: 'provider_ids' }, { field: 'provider_ids' });
  const ids = [...new Set((typeof sent === 'string' ? splitList(sent) : sent).filter((id) => id !== ''))];
  if (ids.length === 0 || ids.length > providers_max) {
    throw invalid('provider_ids', `provider_ids must contain 1 to ${providers_max} providers`);
  }
  return ids;
}

export async function rejectUnknownProviders(db: Database, scope: Scope, ids: readonly string[]): Promise<void> {
  const { client_id, organization_id } = scope;
  const known = await db.read<{ ehr_id: string }>(
    client_id,
    (sql) => sql`SELECT ehr_id FROM providers WHERE client_id = ${client_id}
      AND organization_id = ${organization_id} AND ehr_id = ANY (${[...ids]})`,
  );
  const unknown = ids.find((id) => !known.some(({ ehr_id }) => ehr_id === id));
  if (unknown === undefined) return;
  const error = apiError('provider_not_found', { id: unknown }, { field: 'provider_ids' });
  throw await referenceError(db, scope, ['providers'], error);
}

function invalid(field: string, rule: string) {
  return apiError('invalid_field', { rule }, { field });
}
