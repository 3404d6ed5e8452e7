import { withOffset } from '../../platform/time/zones.ts';
import { EmrFailure } from '../connector.ts';
import { collect } from '../implementations.ts';
import type { Environment } from './environment.ts';
import { skip } from './outcomes.ts';
import { active, testPatient, visitType } from './testRecords.ts';

/** When, with whom and where an appointment can be booked. */
type Opening = { provider_ehr_id: string; location_ehr_id: string; starts_at: string };

/** A time that was not used before, or at least is not booked. */
export async function nextTime(env: Environment): Promise<Opening> {
  return (await booksFreeSlotsOnly(env)) ? nextFreeSlot(env) : farAhead(env);
}

/** Whether the EMR books only into free slots of its schedules, which it shows by refusing any other time. */
export function booksFreeSlotsOnly(env: Environment): Promise<boolean> {
  return env.memoize('books free slots only', async () => {
    const { emr } = await env.open();
    const input = {
      ...(await farAhead(env)),
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
    try {
      if (emr.createAppointment) await env.track(emr.createAppointment.send(input, env.marker()));
      return false;
    } catch (error) {
      // The checks find whatever else may be wrong.
      return error instanceof EmrFailure && error.code === 'slot_taken';
    }
  });
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
