import { type Static, Type } from 'typebox';
import { date_time, day, id, known, nullable, text } from '../fields.ts';
import { dayRange, equals, recordKind } from './recordKind.ts';

const free = Type.Record(Type.String(), Type.Unknown());

export const ClaimInsurance = Type.Object(
  {
    insurance_id: known.text,
    insurance_name: known.text,
    insurance_type: known.text,
    claim_indicator: known.text,
    claim_indicator_description: known.text,
    sequence_number: known.text,
    subscriber_name: known.text,
    subscriber_number: known.text,
    subscriber_dob: known.date,
    subscriber_relation: known.text,
    group_name: known.text,
    group_number: known.text,
    provider_number: known.text,
    payment_source: known.text,
    assign_benefits: known.text,
    insurance_address_1: known.text,
    insurance_address_2: known.text,
    insurance_city: known.text,
    insurance_state: known.text,
    insurance_zip: known.text,
    medicaid_id: known.text,
  },
  { schema_name: 'ClaimInsurance', description: 'A coverage that a claim is billed to, with its subscriber' },
);

/** Decimal strings, unlike the amounts of the claim itself. */
export const ClaimBalances = Type.Object(
  {
    invoice_amount: known.text,
    total_payment: known.text,
    net_payment: known.text,
    balance: known.text,
    patient_balance: known.text,
    patient_payment: known.text,
    patient_responsibility: known.text,
    on_plan: known.text,
  },
  { schema_name: 'ClaimBalances', description: 'The balances of a claim as the EMR shows them, as decimal strings' },
);

export const ClaimLineItem = Type.Object(
  {
    id: Type.String({ description: 'Chartwire’s ID of the line' }),
    line_number: Type.Integer(),
    cpt_code: known.text,
    other_code: Type.Optional({
      ...known.text,
      description: 'The code of the service, if it is neither CPT nor HCPCS',
    }),
    other_code_system: Type.Optional({ ...known.text, description: 'The code system of `other_code` (a URI)' }),
    description: nullable(Type.String({ description: 'Description of the service' })),
    modifiers: Type.Array(Type.String()),
    units: known.number,
    billed_amount: known.number,
    allowed_amount: known.number,
    billed_unit_fee: known.number,
    icd_pointers: Type.Array(Type.String()),
    place_of_service: known.text,
    type_of_service: known.text,
    service_date_start: known.date,
    service_date_end: known.date,
    rendering_provider_npi: known.text,
    ordering_provider_npi: known.text,
    referring_provider_npi: known.text,
  },
  { schema_name: 'ClaimLine', description: 'A service line of a claim' },
);

export const ClaimOtherDiagnosis = Type.Object(
  {
    other_code: { ...known.text, description: 'The code of the diagnosis, if it is not an ICD code' },
    other_code_system: { ...known.text, description: 'The code system of `other_code` (a URI)' },
    description: nullable(Type.String({ description: 'Description of the diagnosis' })),
  },
  { schema_name: 'ClaimOtherDiagnosis', description: 'A diagnosis of a claim without an ICD code' },
);

export const ClaimPayment = Type.Object(
  {
    id: Type.String({ description: 'Chartwire’s ID of the payment' }),
    emr_payment_id: Type.String(),
    check_number: known.text,
    payment_date: known.date,
    amount: known.number,
    payment_type: known.text,
    payer_name: known.text,
    payer_type: known.text,
    adjustment: known.number,
    deductible: known.number,
    coinsurance: known.number,
    allowed: known.number,
    member_balance: known.number,
    withheld: known.number,
    era_claim_status: known.text,
    era_claim_status_code: known.text,
    era_payer_name: known.text,
    era_check_amount: known.number,
    era_adjustment_codes: nullable(free),
  },
  { schema_name: 'ClaimPayment', description: 'A payment posted to a claim, with the adjudication that it belongs to' },
);

const fields = {
  emr_appointment_id: nullable(Type.String({ description: 'The EMR’s ID of the appointment' })),
  service_date: day(),
  claim_date: known.date,
  claim_status: known.text,
  claim_status_description: known.text,
  claim_type: known.text,
  void_flag: Type.Boolean(),
  emr_patient_id: known.text,
  patient_name: known.text,
  emr_provider_id: known.text,
  provider_name: known.text,
  total_charge: known.number,
  total_payment: known.number,
  net_payment: known.number,
  balance: known.number,
  net_adjustment: known.number,
  patient_responsibility: known.number,
  icd_codes: Type.Array(Type.String()),
  other_diagnoses: Type.Optional(
    Type.Array(ClaimOtherDiagnosis, { description: 'Diagnoses of the claim without an ICD code' }),
  ),
  billing_notes: known.text,
  insurances: Type.Array(ClaimInsurance, { description: 'The insurances billed; `sequence_number` gives their order' }),
  balances: ClaimBalances,
  void_claim: Type.Object(
    {
      void_to_claim_id: known.text,
      void_from_claim_id: known.text,
      copy_to_claim_id: known.text,
      copy_from_claim_id: known.text,
    },
    { schema_name: 'ClaimReplacements', description: 'How a claim relates to void, corrected and copied claims' },
  ),
  submission_history: Type.Object(
    { created_by: known.text, entries: Type.Array(free), auto_claim_data: free },
    { schema_name: 'ClaimSubmissionHistory', description: 'How and when a claim was submitted' },
  ),
  billing_activity_log: Type.Array(
    Type.Object(
      {
        date: nullable(Type.String({ description: 'When it was done' })),
        action: nullable(Type.String({ description: 'What was done' })),
        category: known.text,
        notes: nullable(Type.String({ description: 'Notes about the action' })),
        user_name: known.text,
      },
      { schema_name: 'ClaimActivity', description: 'Something that the billing staff did with a claim' },
    ),
  ),
  line_items: Type.Array(ClaimLineItem),
  payments: Type.Array(ClaimPayment),
};

/** `patient_mrn` is only for searching; the API does not return it. */
export const ClaimSource = Type.Object({ ehr_id: Type.String(), patient_mrn: known.text, ...fields });
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
  filters: {
    ...dayRange('service_date', 'service date'),
    patient_mrn: equals(
      'patient_mrn',
      text({ minLength: 1, description: 'Medical Record Number of the patient', examples: ['LK100001'] }),
    ),
    claim_status: equals('claim_status', text({ minLength: 1, description: 'The EMR’s status code, exact' })),
  },
  order: [{ column: 'service_date', descending: true }],
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
