import { type Static, Type } from 'typebox';
import { choices, day, emr_value, id, nullable, text } from '../fields.ts';
import { referral_directions, referral_priorities } from '../requests/referrals.ts';
import { dayRange, equals, recordKind } from './recordKind.ts';

const fields = {
  ehr_id: Type.String({ description: 'The EMR’s ID of the referral', examples: ['750001'] }),
  patient_ehr_id: Type.String({ description: 'The EMR’s ID of the patient', examples: ['10001'] }),
  patient_mrn: Type.String(),
  patient_first_name: emr_value.text,
  patient_last_name: emr_value.text,
  patient_dob: emr_value.date,
  from_provider_ehr_id: nullable(
    Type.String({ description: 'EMR ID of who refers the patient; null: nobody, or unknown', examples: ['8003'] }),
  ),
  from_provider_name: emr_value.text,
  to_provider_ehr_id: nullable(
    Type.String({
      description: 'EMR ID of whom the patient is referred to; null: nobody, or unknown',
      examples: ['501'],
    }),
  ),
  to_provider_name: emr_value.text,
  priority: nullable(choices(referral_priorities, { description: 'Priority; null if the EMR does not say' })),
  urgency: nullable(Type.String({ description: 'Urgency in the EMR’s own words', examples: ['Within two weeks'] })),
  reason: nullable(Type.String({ description: 'Reason for the referral', examples: ['Cardiology consultation'] })),
  diagnosis_codes: Type.Array(Type.String(), { description: 'ICD-10 codes', examples: [['I10']] }),
  document_ids: Type.Array(Type.String(), {
    description: 'EMR IDs of the referral’s documents',
    examples: [['97001']],
  }),
  status: nullable(Type.String({ description: 'Status, as the EMR gives it', examples: ['OPEN'] })),
  referral_date: day({ description: 'Day of the referral' }),
  last_activity_at: nullable(
    Type.String({ format: 'date-time', description: 'When the referral was last changed in the EMR' }),
  ),
};

/** `direction` is only for searching; the API does not return it. null: the EMR does not say. */
export const ReferralSource = Type.Object({
  ...fields,
  direction: nullable(choices(referral_directions)),
});
export type ReferralSource = Static<typeof ReferralSource>;

export const Referral = Type.Object(
  {
    id,
    ...fields,
    synced_at: Type.String({ format: 'date-time', description: 'When a sync or a write last changed the referral' }),
  },
  { schema_name: 'Referral', description: 'A referral as of the last sync' },
);
export type Referral = Static<typeof Referral>;

export const referrals = recordKind({
  name: 'referrals',
  operation: 'listReferrals',
  consent: 'referrals',
  source: ReferralSource,
  wire: Referral,
  labels: { singular: 'referral', plural: 'referrals' },
  group: 'Referrals',
  kept_columns: ['created_at'],
  written_by_us: true,
  row: ({ direction, ...source }, id, stored) => {
    const now = new Date();
    const doc: Referral = { id, ...source, synced_at: now.toISOString() };
    const { patient_mrn, status, priority, referral_date } = source;
    const created_at = (stored?.created_at as Date | undefined) ?? now;
    return { doc, patient_mrn, status, priority, direction, referral_date, created_at };
  },
  filters: {
    ...dayRange('referral_date', 'referral date'),
    patient_mrn: equals(
      'patient_mrn',
      text({ minLength: 1, description: 'Medical Record Number of the patient', examples: ['LK100001'] }),
    ),
    status: equals('status', text({ minLength: 1, description: 'The EMR’s status, exact' })),
    priority: equals('priority', choices(referral_priorities, { description: 'Priority of the referral' })),
    direction: equals('direction', choices(referral_directions, { description: 'Whether patients come or go' })),
    ehr_id: equals('ehr_id', text({ minLength: 1, description: 'The EMR’s ID of the referral' })),
  },
  order: [{ column: 'referral_date', descending: true }],
  mrn_column: 'patient_mrn',
  list: {
    returns: 'pages',
    page_size_max: 100,
    required: ['start_date', 'end_date'],
    sorts: {
      created_at: {
        order: [{ column: 'created_at' }],
        description: 'In the order in which the service first had them',
      },
    },
    summary: 'List referrals, newest referral date first',
  },
  dashboard_columns: [
    'ehr_id',
    'referral_date',
    'priority',
    'status',
    'from_provider_name',
    'to_provider_name',
    'patient_last_name',
  ],
});
