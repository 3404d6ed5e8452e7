import { type Static, Type } from 'typebox';
import { nullable } from '../../model/fields.ts';
import { AppointmentSource } from '../../model/records/appointments.ts';
import { ProviderSource } from '../../model/records/providers.ts';
import { ScheduleBlockSource } from '../../model/records/scheduleBlocks.ts';
import { AppointmentRequest, ScheduledAppointmentChanges } from '../../model/requests/appointments.ts';
import {
  AppointmentFetchRequest,
  AvailabilityFetchRequest,
  availability_options,
} from '../../model/requests/liveSchedule.ts';
import { addDays } from '../../platform/time/days.ts';
import { withOffset } from '../../platform/time/zones.ts';
import { EmrFailure } from '../emrFailure.ts';
import {
  activeRecord,
  collect,
  type Declarations,
  type EmrWrite,
  missing_id,
  requestFields,
  type SampleEnvironment,
  sample_id,
  skip,
  type Written,
} from './operation.ts';

export type AppointmentOperations = {
  getAppointment: (ehr_id: string) => Promise<AppointmentSource | undefined>;
  findAppointments: (search: AppointmentSearch) => Promise<LiveAppointment[]>;
  /** The providers' working hours and blocked time. Providers that the EMR does not have are left out. */
  getSchedule: (search: ScheduleSearch) => Promise<LiveSchedule>;
  createAppointment: EmrWrite<NewAppointment, Written>;
  updateAppointment: EmrWrite<AppointmentUpdate, Written>;
};

/** First and last day, inclusive, in the time zone of the EMR instance. */
export type ScheduleDays = { from: string; to: string };

/** Search criteria. All given criteria must match; at least one is given. */
export type AppointmentSearch = {
  days?: ScheduleDays | undefined;
  patient_ehr_id?: string | undefined;
  /** Any of them, as the first or the second provider. */
  provider_ehr_ids?: readonly string[] | undefined;
};

export type ScheduleSearch = { days: ScheduleDays; provider_ehr_ids: readonly string[] };

export const LiveAppointment = Type.Object({
  ...AppointmentSource.properties,
  created_by: nullable(Type.String({ description: 'Who booked the appointment in the EMR' })),
});
export type LiveAppointment = Static<typeof LiveAppointment>;

export const LiveSchedule = Type.Object({
  hours: Type.Array(Type.Object({ provider_ehr_id: Type.String(), hours: ProviderSource.properties.hours })),
  blocks: Type.Array(ScheduleBlockSource),
});
export type LiveSchedule = Static<typeof LiveSchedule>;

/** Changes to an appointment. What is absent stays. */
export type AppointmentUpdate = {
  appointment_ehr_id: string;
  /** A code of `listVisitStatuses`. */
  status?: string;
  note?: string | null;
  provider_ehr_id?: string;
  location_ehr_id?: string;
  visit_type?: string;
  /** As for a new appointment. */
  starts_at?: string;
  minutes?: number;
  prevent_double_booking: boolean;
};

export type NewAppointment = {
  patient_ehr_id: string;
  provider_ehr_id: string;
  secondary_provider_ehr_id: string | null;
  location_ehr_id: string;
  visit_type: string;
  /** Local time at the EMR instance with its offset, `2026-03-08T09:30:00-04:00`. The EMR must keep the instant. */
  starts_at: string;
  /** null: the length of the visit type in the EMR, or `default_minutes` if it has none. */
  minutes: number | null;
  default_minutes: number;
  reason: string | null;
  note: string | null;
  new_patient: boolean;
  prevent_double_booking: boolean;
};

export const appointment_operations = {
  getAppointment: {
    consent: 'appointments',
    result: AppointmentSource,
    sample: async (env) => {
      const [first] = await env.rows('listAppointments');
      return [(first ?? skip('the EMR has no appointments')).ehr_id];
    },
    missing: [missing_id],
  },
  findAppointments: {
    consent: 'appointments',
    result: Type.Array(LiveAppointment),
    fields: requestFields(AppointmentFetchRequest, {}, ['search_by', 'start_date', 'end_date', 'mrn', 'provider_ids']),
    sample: async (env) => {
      const [first] = await env.rows('listAppointments');
      const day = (first ?? skip('the EMR has no appointments')).starts.slice(0, 10);
      return [{ days: { from: day, to: day } }];
    },
    missing: [{ patient_ehr_id: missing_id }],
  },
  getSchedule: {
    consent: 'schedules',
    result: LiveSchedule,
    fields: requestFields(AvailabilityFetchRequest, {}, ['start_date', 'end_date', ...availability_options]),
    sample: async (env) => {
      const today = new Date().toISOString().slice(0, 10);
      const days = { from: today, to: addDays(today, 4) };
      return [{ days, provider_ehr_ids: [(await activeRecord(env, 'listProviders')).ehr_id] }];
    },
    missing: [{ days: { from: '2031-03-03', to: '2031-03-03' }, provider_ehr_ids: [missing_id] }],
  },
  createAppointment: {
    consent: 'appointments',
    effect: { action: 'create', resource: 'appointment' },
    fields: requestFields(
      AppointmentRequest,
      {
        secondary_provider: { adds: { secondary_provider_ehr_id: sample_id } },
        note: { adds: { note: 'Certification note' } },
        reason: { adds: { reason: 'Certification reason' } },
        duration: { adds: { minutes: 35 } },
        new_patient: { adds: { new_patient: true } },
        prevent_double_booking: {
          adds: { prevent_double_booking: true },
          effect_checked_by: 'createAppointment.conflict',
        },
      },
      ['datetime', 'date', 'time'],
    ),
    sample: {
      input: async (env) =>
        newAppointment(env, (await booksFreeSlotsOnly(env)) ? await nextFreeSlot(env) : await farAhead(env)),
      shown_by: 'getAppointment',
      count: async (emr, { input: { starts_at, patient_ehr_id }, written: { ehr_id } }) => {
        const isAt = (starts: string | undefined) => starts?.slice(0, 16) === starts_at.slice(0, 16);
        if (!emr.listAppointments) return isAt((await emr.getAppointment?.(ehr_id))?.starts) ? 1 : 0;
        const all = await collect(emr.listAppointments());
        const same = all.filter((one) => isAt(one.starts) && one.patient_ehr_id === patient_ehr_id);
        return new Set(same.map((one) => one.ehr_id)).size;
      },
    },
  },
  updateAppointment: {
    consent: 'appointments',
    effect: { action: 'update', resource: 'appointment' },
    fields: requestFields(
      ScheduledAppointmentChanges,
      {
        note: { adds: { note: 'Certification note, changed' } },
        duration: { adds: { minutes: 25 } },
        prevent_double_booking: {
          adds: { prevent_double_booking: true },
          effect_checked_by: 'createAppointment.conflict',
        },
      },
      ['status', 'datetime', 'date', 'time', 'provider', 'location', 'type'],
    ),
    sample: {
      input: async (env) => ({
        appointment_ehr_id: await env.written('createAppointment'),
        note: `Certification ${env.uniqueTag()}`,
        prevent_double_booking: false,
      }),
      shown_by: 'getAppointment',
      count: async (emr, { input: { appointment_ehr_id, note } }) =>
        (await emr.getAppointment?.(appointment_ehr_id))?.note === note ? 1 : 0,
    },
  },
} satisfies Declarations<AppointmentOperations>;

type Env = SampleEnvironment<AppointmentOperations>;

/** Whether the EMR books only into free slots of its schedules, which it shows by refusing any other time. */
export function booksFreeSlotsOnly(env: Env): Promise<boolean> {
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

/** When, with whom and where an appointment can be booked. */
type Opening = Pick<NewAppointment, 'provider_ehr_id' | 'location_ehr_id' | 'starts_at'>;

async function newAppointment(env: Env, opening: Opening): Promise<NewAppointment> {
  return {
    ...opening,
    patient_ehr_id: (await env.testPatient()).ehr_id,
    secondary_provider_ehr_id: null,
    visit_type: await anyVisitType(env),
    minutes: 20,
    default_minutes: 30,
    reason: 'Certification',
    note: null,
    new_patient: false,
    prevent_double_booking: false,
  };
}

async function anyVisitType(env: Env): Promise<string> {
  const { emr } = await env.open();
  if (!emr.listVisitTypes) return 'FOLLOWUP';
  const [first] = await env.rows('listVisitTypes');
  return (first ?? skip('the EMR has no visit type')).code;
}

/** Ten months ahead and one hour apart, where no real appointments are expected. */
async function farAhead(env: Env): Promise<Opening> {
  const used = await usedTimes(env);
  const count = used.count++;
  const day = new Date(used.start_ms + Math.floor(count / 8) * 24 * 3_600_000).toISOString().slice(0, 10);
  const { timezone = 'UTC' } = await env.session();
  return {
    provider_ehr_id: (await activeRecord(env, 'listProviders')).ehr_id,
    location_ehr_id: (await activeRecord(env, 'listLocations')).ehr_id,
    starts_at: withOffset(`${day}T${String(9 + (count % 8)).padStart(2, '0')}:00:00`, timezone),
  };
}

/** The start of a shift of a single day. Once it is booked, the shift starts later, so the hours are read each time. */
async function nextFreeSlot(env: Env): Promise<Opening> {
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
  const used = await usedTimes(env);
  return ahead[used.count++ % ahead.length] ?? skip('the EMR books free slots only, and has none');
}

function usedTimes(env: Env): Promise<{ start_ms: number; count: number }> {
  return env.memoize('times', async () => ({ start_ms: Date.now() + 300 * 24 * 3_600_000, count: 0 }));
}
