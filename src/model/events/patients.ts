import { Type } from 'typebox';
import { nullable } from '../fields.ts';
import { audit_trail, type EventKinds, reasons, refusal } from './event.ts';
import { changed_fields, syncData } from './syncData.ts';

const merge = syncData({
  patient_id: Type.String({ description: 'The patient whose chart was merged, which no longer exists in Chartwire' }),
  mrn: Type.String(),
  ehr_id: Type.String(),
  surviving_patient_id: nullable(Type.String({ description: 'The patient that remains; null if Chartwire has none' })),
  surviving_mrn: nullable(Type.String({ description: 'Its MRN' })),
  surviving_ehr_id: nullable(Type.String({ description: 'Its EMR ID; null if the EMR does not tell' })),
});

export const patient_events = {
  'patient.created': {
    summary: 'The patient was created in the EMR.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'patient' },
    data: Type.Object({ patient_id: Type.String(), mrn: Type.String() }),
    sync_data: syncData({ patient_id: Type.String(), mrn: Type.String(), ehr_id: Type.String() }),
  },
  'patient.failed': {
    summary: 'The patient was not created. For a duplicate, the event includes the MRN of the existing patient.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'duplicate_patient' },
    data: Type.Object({
      patient_id: Type.String(),
      failure_reason: Type.String(),
      reasons,
      duplicate_patient_mrn: Type.Optional(Type.String()),
    }),
  },
  'patient.updated': {
    summary: 'The patient was updated in the EMR.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'patient_update' },
    data: Type.Object({ patient_id: Type.String(), mrn: Type.String(), audit_trail }),
    sync_data: syncData({ patient_id: Type.String(), mrn: Type.String(), ehr_id: Type.String(), changed_fields }),
  },
  'patient.update_failed': {
    summary: 'The patient was not updated and keeps the previous values.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'patient_update', fault: refusal('update_patient') },
    data: Type.Object({ patient_id: Type.String(), mrn: Type.String(), failure_reason: Type.String(), reasons }),
  },
  'patient.merged': {
    summary: 'Staff merged the patient’s chart into another one in the EMR.',
    has_job_id: false,
    has_account_reference: true,
    trigger: { request: 'staff_merge' },
    data: merge,
    sync_data: merge,
  },
  'patient.live_fetch_completed': {
    summary: 'The live fetch finished. If exactly one patient was found, its fields are also placed directly in data.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'live_fetch' },
    data: Type.Object(
      {
        success: Type.Boolean({ description: 'Always true' }),
        patient_count: Type.Integer({ description: 'Number of patients found' }),
        patients: Type.Array(
          Type.Object(
            {},
            {
              schema_name: 'LivePatient',
              description: 'A patient’s chart as the EMR returned it',
              additionalProperties: true,
              examples: [
                {
                  ehr_id: '10001',
                  mrn: 'LK100001',
                  first_name: 'Ada',
                  last_name: 'Testpatient',
                  dob: '1981-11-26',
                  last_appointment_date: '2026-11-04',
                  medications: [{ name: 'Lisinopril 10 mg', strength: '10 mg', frequency: 'once daily' }],
                },
              ],
            },
          ),
          { description: 'The patients found' },
        ),
        not_available: Type.Optional(
          Type.Array(Type.String({ examples: ['balances'] }), {
            description:
              'Only if the EMR does not return all parts of a chart: those that are null, of `encounters`, `guarantors`, `balances`, `alerts`, `medications` and `pharmacies`',
          }),
        ),
      },
      { additionalProperties: true },
    ),
  },
  'patient.live_fetch_failed': {
    summary: 'The live fetch failed.',
    has_job_id: true,
    has_account_reference: true,
    trigger: { request: 'live_fetch', unlinks_account: true },
    data: Type.Object({ failure_reason: Type.String(), reasons }),
  },
} as const satisfies EventKinds;
