import type { Tx } from '../db/database.ts';
import { refusal } from '../errors.ts';
import type { Provider } from '../model/provider.ts';
import type { ProviderSettingsRequest, ShiftRequest } from '../model/providerSettings.ts';
import { locationNames } from './locations.ts';
import { findProvider, isResting, type ProviderSettings, providerDocument, saveProviderSettings } from './providers.ts';
import { readStatus } from './readStatus.ts';
import { hastenSync } from './requestSync.ts';
import { forgetReadings } from './syncReadings.ts';

type Hours = Provider['hours'];

/** Changes the settings of a provider that belong to the service. Gives the provider's id. */
export async function patchProvider(
  tx: Tx,
  account: { client_id: string; organisation_id: string },
  by: { id: string } | { ehr_id: string },
  request: ProviderSettingsRequest,
): Promise<string | undefined> {
  if (Object.keys(request).length === 0) throw refusal('no_field');
  const { status, hide_in_availability: hide, hours } = request;
  // Nobody has read the schedule of one who was set aside; availability must not offer by the old one for long. The
  // organisation is locked before the provider: a sync holds providers, and a link the organisation, while they wait.
  const woken = status !== undefined && readStatus(status) === 'active';
  if (woken && (await isResting(tx, account.organisation_id, by))) {
    await hastenSync(tx, account.organisation_id);
    // Of a provider who rested nothing was kept, whether it changed since or not.
    await forgetReadings(tx, account.organisation_id);
  }
  const provider = await findProvider(tx, account.organisation_id, by);
  if (!provider) return undefined;
  const facilities = await locationNames(tx, { ...account, run: 0 });
  const settings: ProviderSettings = {
    status_set: status === undefined ? provider.status_set : readStatus(status),
    hide_in_availability: hide === undefined ? provider.hide_in_availability : String(hide) === 'true',
    hours_set: hours === undefined ? provider.hours_set : hours && readHours(hours, facilities),
  };
  const doc = providerDocument(provider.source, provider.id, settings, facilities);
  await saveProviderSettings(tx, provider.id, settings, doc);
  return provider.id;
}

/** A week as it was sent, in the form in which it is read. */
function readHours(
  hours: NonNullable<ProviderSettingsRequest['hours']>,
  facilities: ReadonlyMap<string, string>,
): Hours {
  const seen = new Set<string>();
  return hours.map(({ day, shifts }, d) => {
    if (seen.has(day)) throw invalid(`hours[${d}].day must name each day once`);
    seen.add(day);
    return { day, shifts: shifts.map((shift, s) => readShift(`hours[${d}].shifts[${s}]`, shift, facilities)) };
  });
}

function readShift(
  place: string,
  shift: ShiftRequest,
  facilities: ReadonlyMap<string, string>,
): Hours[number]['shifts'][number] {
  const { set_recur, recurrence: recur = set_recur, facility_name: _ignored, visit_type_rules, ...rest } = shift;
  if (set_recur && shift.recurrence) throw invalid(`${place} must not have both recurrence and set_recur`);
  if (shift.end <= shift.start) throw invalid(`${place}.end must be after start`);
  if (shift.facility_id !== undefined && !facilities.has(shift.facility_id)) {
    throw refusal('location_not_found', { id: shift.facility_id }, { field: 'hours' });
  }
  checkDates(place, shift.set_start_date, shift.set_end_date, 'set_start_date', 'set_end_date');
  if (recur) checkDates(place, recur.rec_start_date, recur.rec_end_date, 'rec_start_date', 'rec_end_date');
  for (const [n, rule] of (visit_type_rules ?? []).entries()) {
    if (rule.end_time <= rule.start_time)
      throw invalid(`${place}.visit_type_rules[${n}].end_time must be after start_time`);
  }
  return {
    ...rest,
    ...(recur && {
      recurrence: {
        ...recur,
        recur_interval_type: recur.recur_interval_type ?? 'weeks',
        recur_interval_description: recur.recur_interval_description ?? '',
      },
    }),
    ...(visit_type_rules && {
      visit_type_rules: visit_type_rules.map((rule) => ({ ...rule, visit_type_desc: rule.visit_type_desc ?? '' })),
    }),
  };
}

function checkDates(
  place: string,
  from: string | undefined,
  to: string | undefined,
  from_name: string,
  to_name: string,
) {
  for (const [name, date] of [
    [from_name, from],
    [to_name, to],
  ]) {
    if (date !== undefined && !exists(date)) throw invalid(`${place}.${name} is not a date that exists`);
  }
  if (from !== undefined && to !== undefined && to.slice(0, 10) < from.slice(0, 10)) {
    throw invalid(`${place}.${to_name} must not be before ${from_name}`);
  }
}

function exists(date: string): boolean {
  const day = date.slice(0, 10);
  const parsed = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(day) && !Number.isNaN(Date.parse(date));
}

function invalid(rule: string) {
  return refusal('invalid_field', { rule }, { field: 'hours' });
}
