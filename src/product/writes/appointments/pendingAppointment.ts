import type { Appointment } from '../../../model/records/appointments.ts';
import type { Patient } from '../../../model/records/patients.ts';
import type { Account } from '../../accounts/accounts.ts';
import type { Context } from '../../context.ts';
import { type AppointmentInput, createAppointment } from './appointment.create.ts';

type Stored = {
  input: AppointmentInput;
  created_at: string;
  provider_npi: string | null;
  patient: Patient | null;
};

/** A requested appointment whose job has not finished, as the client will read it; undefined if there is none. */
export async function readPendingAppointment(
  ctx: Context,
  { client_id, organization_id }: Account,
  id: string,
): Promise<Appointment | undefined> {
  const [stored] = await ctx.db.read<Stored>(
    client_id,
    (sql) => sql`SELECT operation.input, iso(operation.created_at) AS created_at,
      (SELECT doc ->> 'npi' FROM providers WHERE providers.organization_id = operation.organization_id
         AND providers.ehr_id = operation.input ->> 'provider') AS provider_npi,
      (SELECT doc FROM patients WHERE patients.client_id = operation.client_id
         AND patients.organization_id = operation.organization_id
         AND patients.mrn = operation.patient_mrn ORDER BY patients.id LIMIT 1) AS patient
      FROM operations AS operation
     WHERE operation.id = ${id} AND operation.organization_id = ${organization_id}
       AND operation.type = ${createAppointment.type}
       AND EXISTS (SELECT FROM jobs WHERE jobs.operation_id = operation.id AND jobs.state IN ('queued', 'running'))`,
  );
  return stored && toAppointment(id, stored);
}

function toAppointment(id: string, { input, created_at, provider_npi, patient }: Stored): Appointment {
  const name = patient && [patient.first_name, patient.last_name].filter(Boolean).join(' ');
  return {
    id,
    ehr_appointment_id: null,
    datetime: input.starts_at,
    duration: Number(input.duration ?? input.visit_type_minutes ?? input.default_minutes),
    location: input.location,
    status: 'pending',
    appointment_mode: null,
    appointment_type: input.type,
    practice_id: null,
    reason: input.reason ?? null,
    complaint_type: null,
    patient_name: name,
    patient_first_name: patient?.first_name ?? null,
    patient_last_name: patient?.last_name ?? null,
    patient_mrn: input.mrn,
    patient_ehr_id: patient?.ehr_id ?? null,
    patient_dob: patient?.dob ?? null,
    patient_gender: patient?.sex ?? null,
    patient_phone: patient?.cell_phone ?? patient?.phone ?? null,
    provider_ehr_id: input.provider,
    secondary_provider_ehr_id: input.secondary_provider ?? null,
    insurances: [],
    diagnoses: [],
    medications: [],
    note: input.note ?? null,
    progress_note: null,
    created_at: null,
    provider_name: input.provider_name,
    provider_npi,
    insurance: null,
    insurance_number: null,
    insurance_group_number: null,
    insurance_subscriber: null,
    secondary_insurance: null,
    secondary_insurance_number: null,
    object_metadata: { created_at },
  };
}
