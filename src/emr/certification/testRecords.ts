import { withOffset } from '../../platform/time/zones.ts';
import { EmrFailure } from '../connector.ts';
import { collect } from '../implementations.ts';
import type { NewAppointment, NewPatient } from '../writeInputs.ts';
import { type Environment, type ListName, type RowOf, skip } from './environment.ts';

/** Clearly fictitious. Numbers 555-01xx are reserved for fiction. */
export const family_name = 'Certification-Testpatient';

/** The patient whose chart is written to: that of the target, or a new one. */
export function testPatient(env: Environment): Promise<{ ehr_id: string; mrn: string }> {
  if (env.patient_mrn !== undefined) return env.anyPatient();
  return env.memoize('chart', async () => {
    const { emr } = await env.open();
    const created = await emr.createPatient?.send(newPatient(env.uniqueTag()), env.marker());
    return created ?? skip('no patient was named, and the EMR does not support createPatient');
  });
}

export function newPatient(uniqueTag: string): NewPatient {
  return {
    first_name: capitalize(uniqueTag),
    last_name: family_name,
    dob: '1980-02-29',
    sex: 'female',
    phone: '518-555-0199',
    address_street: '1 Placeholder Street',
    address_city: 'Exampleton',
    address_state: 'NY',
    address_zip: '12207',
    self_pay: true,
    payer: null,
    coverages: [],
    check_eligibility: false,
    pharmacy_ehr_id: null,
  };
}

export function capitalize(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** When, with whom and where an appointment can be booked. */
type Opening = { provider_ehr_id: string; location_ehr_id: string; starts_at: string };

export async function newAppointment(env: Environment, opening: Opening): Promise<NewAppointment> {
  return {
    ...opening,
    patient_ehr_id: (await testPatient(env)).ehr_id,
    secondary_provider_ehr_id: null,
    visit_type: await visitType(env),
    minutes: 20,
    default_minutes: 30,
    reason: 'Certification',
    note: null,
    new_patient: false,
    prevent_double_booking: false,
  };
}

/** A time that was not used before, or at least is not booked. */
export async function nextTime(env: Environment): Promise<Opening> {
  return (await booksFreeSlotsOnly(env)) ? nextFreeSlot(env) : farAhead(env);
}

/** Whether the EMR books only into free slots of its schedules, which it shows by refusing any other time. */
export function booksFreeSlotsOnly(env: Environment): Promise<boolean> {
  return env.memoize('books free slots only', async () => {
    const { emr } = await env.open();
    const input = await newAppointment(env, await farAhead(env));
    try {
      if (emr.createAppointment) await env.track(emr.createAppointment.send(input, env.marker()));
      return false;
    } catch (error) {
      // The checks find whatever else may be wrong.
      return error instanceof EmrFailure && error.code === 'slot_taken';
    }
  });
}

export async function anyCompany(env: Environment): Promise<{ ehr_id: string }> {
  const all = await env.rows('listInsuranceProviders');
  return all.find(({ active }) => active) ?? skip('the EMR has no active insurance provider');
}

/** The lists whose records have a status. */
type StatusList = { [Name in ListName]: RowOf<Name> extends { status: string } ? Name : never }[ListName];

export async function active(env: Environment, name: StatusList): Promise<{ ehr_id: string }> {
  const all: { ehr_id: string; status: string }[] = await env.rows(name);
  return all.find(({ status }) => status === 'active') ?? skip(`${name} returns no active record`);
}

async function visitType(env: Environment): Promise<string> {
  const supported = await env.capabilities();
  if (!supported.includes('listVisitTypes')) return 'FOLLOWUP';
  const [first] = await env.rows('listVisitTypes');
  return (first ?? skip('the EMR has no visit type')).code;
}

/** Ten months ahead and one hour apart, where no real appointments are expected. */
async function farAhead(env: Environment): Promise<Opening> {
  const { start_ms } = await env.memoize('times', async () => ({ start_ms: Date.now() + 300 * 24 * 3_600_000 }));
  const count = env.counters.appointments++;
  const day = new Date(start_ms + Math.floor(count / 8) * 24 * 3_600_000).toISOString().slice(0, 10);
  const { timezone = 'UTC' } = await env.session();
  return {
    provider_ehr_id: (await active(env, 'listProviders')).ehr_id,
    location_ehr_id: (await active(env, 'listLocations')).ehr_id,
    starts_at: withOffset(`${day}T${String(9 + (count % 8)).padStart(2, '0')}:00:00`, timezone),
  };
}

/** The start of a shift of a single day. Once it is booked, the shift starts later, so the hours are read each time. */
async function nextFreeSlot(env: Environment): Promise<Opening> {
  const { emr } = await env.open();
  const { timezone = 'UTC' } = await env.session();
  const providers = emr.listProviders ? await env.track(collect(emr.listProviders())) : [];
  const openings = providers.flatMap(({ ehr_id, hours }) =>
    hours
      .flatMap(({ shifts }) => shifts)
      .flatMap(({ start, facility_id, set_start_date, set_end_date }): Opening[] => {
        if (!facility_id || !set_start_date || set_start_date !== set_end_date) return [];
        const starts_at = withOffset(`${set_start_date.slice(0, 10)}${start}`, timezone);
        return [{ provider_ehr_id: ehr_id, location_ehr_id: facility_id, starts_at }];
      }),
  );
  const ahead = openings.filter(({ starts_at }) => Date.parse(starts_at) > Date.now());
  return ahead[env.counters.appointments++ % ahead.length] ?? skip('the EMR books free slots only, and has none');
}
