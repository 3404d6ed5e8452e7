import { apiError } from '../../../catalog/errors.ts';
import { newId } from '../../../catalog/ids.ts';
import { EmrFailure } from '../../../emr/emrFailure.ts';
import { appointments } from '../../../model/records/appointments.ts';
import { AppointmentFetchRequest } from '../../../model/requests/liveSchedule.ts';
import { defineWrite, failureFields, patientNotFound } from '../defineWrite.ts';
import { readDays, readProviderIds, rejectUnknownProviders } from './liveSchedule.ts';

const range_days_max = 7;
/** About 2 MB as an event, without notes. */
const appointments_max = 1000;

/** Reads appointments live from the EMR. Nothing is written there, so an attempt can be repeated freely. */
export const fetchAppointments = defineWrite({
  type: 'appointment.fetch',
  label: 'Live appointment fetch',
  plural_label: 'Live appointment fetches',
  body: AppointmentFetchRequest,
  sample: { search_by: 'date_range', start_date: '2031-03-03', end_date: '2031-03-07' },
  reads_only: true,
  needs: ['findAppointments', 'findPatient'],
  restricted: false,
  stored_by: 'findAppointments',
  sentFields: (body) => (body.search_by === 'mrn' ? ['mrn'] : []),
  check: async ({ ctx, account, body }) => {
    const { search_by = 'date_range' } = body;
    if (search_by === 'mrn' && body.mrn === undefined)
      throw apiError('missing_field', { field: 'mrn' }, { field: 'mrn' });
    const provider_ids = search_by === 'provider' ? readProviderIds(body.provider_ids) : undefined;
    const all_days = search_by === 'mrn' && body.start_date === undefined && body.end_date === undefined;
    const days_max = search_by === 'date_range' ? range_days_max : undefined;
    const days = all_days ? undefined : readDays(body, { days_max, provider_ids });
    if (provider_ids) await rejectUnknownProviders(ctx.db, account, provider_ids);
    // A lane of its own: a read neither waits for other jobs nor delays them.
    return { lane: { key: `fetch:${newId()}` }, lookups: { search: { days, provider_ids } } };
  },
  acceptedResponse: ({ job_id }) => ({
    success: true,
    message: 'Appointment fetch queued. A webhook event follows on completion.',
    job_id,
  }),
  run: async ({ input, emr, refresh }) => {
    const { days, provider_ids } = input.search;
    const by_patient = input.search_by === 'mrn';
    const created_by = new Map<string, string | null>();
    const records = await refresh(appointments, async () => {
      const patient_ehr_id = by_patient ? await findPatient(emr, input.mrn ?? '') : undefined;
      const matches = await emr.findAppointments({ days, provider_ehr_ids: provider_ids, patient_ehr_id });
      if (matches.length > appointments_max) {
        const message = `More than ${appointments_max} appointments match. Narrow the search.`;
        throw new EmrFailure('refused', message, { code: 'too_many_matches' });
      }
      return matches.map(({ created_by: who, ...source }) => {
        created_by.set(source.ehr_id, who);
        return source;
      });
    });
    const shown = records.map(({ ehr_id, shown }) =>
      by_patient ? { ...shown, created_by: created_by.get(ehr_id) ?? null } : shown,
    );
    const data = {
      success: true,
      appointment_count: shown.length,
      start_date: days?.from ?? null,
      end_date: days?.to ?? null,
      appointments: shown,
    };
    return { event: { type: 'appointment.live_fetch_completed', data } };
  },
  onFailure: ({ failure }) => {
    return { state: 'failed', event: { type: 'appointment.live_fetch_failed', data: failureFields(failure) } };
  },
});

type FindPatient = { findPatient: (mrn: string) => Promise<{ ehr_id: string } | undefined> };

async function findPatient(emr: FindPatient, mrn: string): Promise<string> {
  const patient = await emr.findPatient(mrn);
  if (!patient) throw patientNotFound(mrn);
  return patient.ehr_id;
}
