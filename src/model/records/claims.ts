import { type Static, Type } from 'typebox';
import { date_time, day, emr_value, id, nullable, text } from '../fields.ts';
import { dayRange, equals, recordKind } from './recordKind.ts';

const free = Type.Record(Type.String(), Type.Unknown());

export const ClaimInsurance = Type.Object(
  {
    insurance_id: emr_value.text,
    insurance_name: emr_value.text,
    insurance_type: emr_value.text,
    claim_indicator: emr_value.text,
    claim_indicator_description: emr_value.text,
    sequence_number: emr_value.text,
    subscriber_name: emr_value.text,
    subscriber_number: emr_value.text,
    subscriber_dob: emr_value.date,
    subscriber_relation: emr_value.text,
    group_name: emr_value.text,
    group_number: emr_value.text,
    provider_number: emr_value.text,
    payment_source: emr_value.text,
    assign_benefits: emr_value.text,
    insurance_address_1: emr_value.text,
    insurance_address_2: emr_value.text,
    insurance_city: emr_value.text,
    insurance_state: emr_value.text,
    insurance_zip: emr_value.text,
    medicaid_id: emr_value.text,
  },
  { schema_name: 'ClaimInsurance', description: 'A coverage that a claim is billed to, with its subscriber' },
);

/** Decimal strings, unlike the amounts of the claim itself. */
export const ClaimBalances = Type.Object(
  {
    invoice_amount: emr_value.text,
    total_payment: emr_value.text,
    net_payment: emr_value.text,
    balance: emr_value.text,
    patient_balance: emr_value.text,
    patient_payment: emr_value.text,
    patient_responsibility: emr_value.text,
    on_plan: emr_value.text,
  },
  { schema_name: 'ClaimBalances', description: 'The balances of a claim as the EMR shows them, as decimal strings' },
);

export const ClaimLineItem = Type.Object(
  {
    id: Type.String({ description: 'Chartwire’s ID of the line' }),
    line_number: Type.Integer(),
    cpt_code: emr_value.text,
    other_code: Type.Optional({
      ...emr_value.text,
      description: 'The code of the service, if it is neither CPT nor HCPCS',
    }),
    other_code_system: Type.Optional({ ...emr_value.text, description: 'The code system of `other_code` (a URI)' }),
    description: nullable(Type.String({ description: 'Description of the service' })),
    modifiers: Type.Array(Type.String()),
    units: emr_value.number,
    billed_amount: emr_value.number,
    allowed_amount: emr_value.number,
    billed_unit_fee: emr_value.number,
    icd_pointers: Type.Array(Type.String()),
    place_of_service: emr_value.text,
    type_of_service: emr_value.text,
    service_date_start: emr_value.date,
    service_date_end: emr_value.date,
    rendering_provider_npi: emr_value.text,
    ordering_provider_npi: emr_value.text,
    referring_provider_npi: emr_value.text,
  },
  { schema_name: 'ClaimLine', description: 'A service line of a claim' },
);

export const ClaimOtherDiagnosis = Type.Object(
  {
    other_code: { ...emr_value.text, description: 'The code of the diagnosis, if it is not an ICD code' },
    other_code_system: { ...emr_value.text, description: 'The code system of `other_code` (a URI)' },
    description: nullable(Type.String({ description: 'Description of the diagnosis' })),
  },
  { schema_name: 'ClaimOtherDiagnosis', description: 'A diagnosis of a claim without an ICD code' },
);

export const ClaimPayment = Type.Object(
  {
    id: Type.String({ description: 'Chartwire’s ID of the payment' }),
    emr_payment_id: Type.String(),
    check_number: emr_value.text,
    payment_date: emr_value.date,
    amount: emr_value.number,
    payment_type: emr_value.text,
    payer_name: emr_value.text,
    payer_type: emr_value.text,
    adjustment: emr_value.number,
    deductible: emr_value.number,
    coinsurance: emr_value.number,
    allowed: emr_value.number,
    member_balance: emr_value.number,
    withheld: emr_value.number,
    era_claim_status: emr_value.text,
    era_claim_status_code: emr_value.text,
    era_payer_name: emr_value.text,
    era_check_amount: emr_value.number,
    era_adjustment_codes: nullable(free),
  },
  { schema_name: 'ClaimPayment', description: 'A payment posted to a claim, with the adjudication that it belongs to' },
);

const fields = {
  emr_appointment_id: nullable(Type.String({ description: 'The EMR’s ID of the appointment' })),
  service_date: day(),
  claim_date: emr_value.date,
  claim_status: emr_value.text,
  claim_status_description: emr_value.text,
  claim_type: emr_value.text,
  void_flag: Type.Boolean(),
  emr_patient_id: emr_value.text,
  patient_name: emr_value.text,
  emr_provider_id: emr_value.text,
  provider_name: emr_value.text,
  total_charge: emr_value.number,
  total_payment: emr_value.number,
  net_payment: emr_value.number,
  balance: emr_value.number,
  net_adjustment: emr_value.number,
  patient_responsibility: emr_value.number,
  icd_codes: Type.Array(Type.String()),
  other_diagnoses: Type.Optional(
    Type.Array(ClaimOtherDiagnosis, { description: 'Diagnoses of the claim without an ICD code' }),
  ),
  billing_notes: emr_value.text,
  insurances: Type.Array(ClaimInsurance, { description: 'The insurances billed; `sequence_number` gives their order' }),
  balances: ClaimBalances,
  void_claim: Type.Object(
    {
      void_to_claim_id: emr_value.text,
      void_from_claim_id: emr_value.text,
      copy_to_claim_id: emr_value.text,
      copy_from_claim_id: emr_value.text,
    },
    { schema_name: 'ClaimReplacements', description: 'How a claim relates to void, corrected and copied claims' },
  ),
  submission_history: Type.Object(
    { created_by: emr_value.text, entries: Type.Array(free), auto_claim_data: free },
    { schema_name: 'ClaimSubmissionHistory', description: 'How and when a claim was submitted' },
  ),
  billing_activity_log: Type.Array(
    Type.Object(
      {
        date: nullable(Type.String({ description: 'When it was done' })),
        action: nullable(Type.String({ description: 'What was done' })),
        category: emr_value.text,
        notes: nullable(Type.String({ description: 'Notes about the action' })),
        user_name: emr_value.text,
      },
      { schema_name: 'ClaimActivity', description: 'Something that the billing staff did with a claim' },
    ),
  ),
  line_items: Type.Array(ClaimLineItem),
  payments: Type.Array(ClaimPayment),
};

/** `patient_mrn` is only for searching; the API does not return it. */
export const ClaimSource = Type.Object({ ehr_id: Type.String(), patient_mrn: emr_value.text, ...fields });
export type ClaimSource = Static<typeof ClaimSource>;

export const Claim = Type.Object(
  {
    id,
    emr_claim_id: Type.String(),
    ...fields,
    synced_at: Type.String({ format: 'date-time', description: 'When a sync last changed the claim' }),
    created_at: date_time,
    updated_at: date_time,
  },
  { schema_name: 'Claim', description: 'A claim as of the last sync' },
);
export type Claim = Static<typeof Claim>;

export const claims = recordKind({
  name: 'claims',
  operation: 'listClaims',
  consent: 'claims',
  source: ClaimSource,
  wire: Claim,
  labels: { singular: 'claim', plural: 'claims' },
  group: 'Claims and orders',
  kept_columns: ['created_at'],
  written_by_us: true,
  row: ({ ehr_id, patient_mrn, ...source }, id, stored) => {
    const now = new Date();
    const created_at = (stored?.created_at as Date | undefined) ?? now;
    const doc: Claim = {
      id,
      emr_claim_id: ehr_id,
      ...source,
      synced_at: now.toISOString(),
      created_at: created_at.toISOString(),
      updated_at: now.toISOString(),
    };
    const { service_date, claim_status } = source;
    return { doc, patient_mrn, service_date, claim_status, created_at };
  },
  announced: {
    // Names come from the patient and the provider, whose changes are not the claim's.
    fields: Object.keys(fields).filter((name) => !['patient_name', 'provider_name'].includes(name)),
    columns: [],
    toEvent: ({ before, after, changed_fields }) => {
      if (!before) return undefined;
      const { id: claim_id, emr_claim_id, claim_status } = after.doc as Claim;
      const patient_mrn = (after.patient_mrn as string | null) ?? null;
      const data = { source: 'emr' as const, claim_id, emr_claim_id, patient_mrn, claim_status, changed_fields };
      return { type: 'claim.updated', data };
    },
  },
  filters: {
    ...dayRange('service_date', 'service date'),
    patient_mrn: equals(
      'patient_mrn',
      text({ minLength: 1, description: 'Medical Record Number of the patient', examples: ['LK100001'] }),
    ),
    claim_status: equals('claim_status', text({ minLength: 1, description: 'The EMR’s status code, exact' })),
  },
  order: [{ column: 'service_date', descending: true }],
  in_change_feed: true,
  mrn_column: 'patient_mrn',
  counted: true,
  list: {
    returns: 'pages',
    page_size_max: 1000,
    summary: 'List claims, latest service date first',
  },
  dashboard_columns: [
    'emr_claim_id',
    'service_date',
    'claim_status',
    'total_charge',
    'total_payment',
    'balance',
    'patient_name',
  ],
});
