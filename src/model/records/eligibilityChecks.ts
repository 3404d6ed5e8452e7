import { type Static, Type } from 'typebox';
import { choices, day, emr_value, id, nullable, text } from '../fields.ts';
import { dayRange, equals, recordKind } from './recordKind.ts';

const coverage_status = choices(
  {
    active: 'The insurer confirmed the coverage',
    inactive: 'The insurer answered that there is no coverage',
    error: 'The insurer rejected or could not process the request',
    unknown: 'No answer yet, or one that does not say',
  },
  { description: 'Whether the patient was covered on the service date' },
);

export const EligibilityBenefit = Type.Object(
  {
    line_number: Type.Integer({ description: 'Position in the insurer’s answer, starting at 1' }),
    benefit_type: Type.String({ description: 'Kind of benefit, as text', examples: ['Deductible'] }),
    benefit_type_code: nullable(Type.String({ description: 'The EMR’s code of the kind', examples: ['C'] })),
    coverage_level: nullable(
      choices({ IND: 'One person', FAM: 'The family' }, { description: 'Whom the benefit covers' }),
    ),
    service_type_codes: Type.Array(Type.String(), {
      description: 'Codes of the services that the benefit applies to',
      examples: [['30']],
    }),
    insurance_type: emr_value.text,
    time_period: nullable(
      Type.String({ description: 'Period that the value applies to', examples: ['Calendar Year'] }),
    ),
    amount: nullable(Type.Number({ description: 'Amount in dollars', examples: [1500] })),
    percent: nullable(Type.Number({ description: 'Share that the patient pays, in percent', examples: [20] })),
    network_indicator: choices(
      {
        'in-network': 'Only with providers of the insurer’s network',
        'out-of-network': 'Only with other providers',
        unknown: 'The insurer does not say',
        'not-applicable': 'With any provider',
      },
      { description: 'Which providers the benefit applies to' },
    ),
    messages: Type.Array(Type.String(), { description: 'Remarks of the insurer', examples: [['AFTER DEDUCTIBLE']] }),
    raw_segment: nullable(
      Type.String({ description: 'The line as the insurer sent it', examples: ['EB*C*IND*30*PR**23*1500.00~'] }),
    ),
  },
  { schema_name: 'EligibilityBenefit', description: 'A line of an insurer’s answer to an eligibility check' },
);
export type EligibilityBenefit = Static<typeof EligibilityBenefit>;

const fields = {
  emr_patient_id: emr_value.text,
  patient_name: emr_value.text,
  patient_dob: emr_value.date,
  emr_encounter_id: nullable(Type.String({ description: 'The EMR’s ID of the visit that the check was made for' })),
  provider_name: emr_value.text,
  payer_name: nullable(Type.String({ description: 'Name of the insurer' })),
  subscriber_name: emr_value.text,
  subscriber_member_id: nullable(Type.String({ description: 'Member ID of the subscriber' })),
  patient_relationship: nullable(
    choices(
      { self: 'The patient is the subscriber', dependent: 'Another person is the subscriber' },
      { description: 'The patient’s relationship to the subscriber' },
    ),
  ),
  plan_name: nullable(Type.String({ description: 'Name of the plan' })),
  coverage_status,
  status_message: nullable(Type.String({ description: 'The insurer’s or the EMR’s explanation of the status' })),
  service_date: day(),
  response_at: nullable(Type.String({ format: 'date-time', description: 'When the insurer answered' })),
  plan_begin_date: emr_value.date,
  plan_end_date: nullable(day({ description: 'Last day of the plan' })),
};

/** `patient_mrn` is only for searching; the API does not return it. */
export const EligibilityCheckSource = Type.Object({
  ehr_id: Type.String(),
  patient_mrn: emr_value.text,
  ...fields,
  benefits: Type.Array(EligibilityBenefit),
});
export type EligibilityCheckSource = Static<typeof EligibilityCheckSource>;

export const EligibilityCheck = Type.Object(
  {
    id,
    emr_id: Type.String({ description: 'The EMR’s ID of the check', examples: ['90001'] }),
    ...fields,
    benefits_summary: Type.Object(
      {
        deductible: nullable(Type.Number({ description: 'Deductible in dollars', examples: [1500] })),
        out_of_pocket: nullable(Type.Number({ description: 'Out-of-pocket maximum in dollars', examples: [6500] })),
      },
      {
        schema_name: 'EligibilitySummary',
        description:
          'The most important amounts of the benefits: if possible for one person, in network, for the whole period',
      },
    ),
    benefit_count: Type.Integer({ description: 'Number of benefits, see `/v1/eligibility-checks/{id}/benefits`' }),
  },
  { schema_name: 'EligibilityCheck', description: 'An eligibility check of an insurance as of the last sync' },
);
export type EligibilityCheck = Static<typeof EligibilityCheck>;

export const eligibilityChecks = recordKind({
  name: 'eligibility_checks',
  operation: 'listEligibilityChecks',
  consent: 'insurance',
  source: EligibilityCheckSource,
  wire: EligibilityCheck,
  labels: { singular: 'eligibility check', plural: 'eligibility checks' },
  group: 'Patient insurance',
  row: ({ ehr_id, patient_mrn, benefits, ...source }, id) => {
    const doc: EligibilityCheck = {
      id,
      emr_id: ehr_id,
      ...source,
      benefits_summary: summarizeBenefits(benefits),
      benefit_count: benefits.length,
    };
    const { service_date, coverage_status } = source;
    return { doc, patient_mrn, service_date, coverage_status, benefits };
  },
  filters: {
    ...dayRange('service_date', 'service date'),
    patient_mrn: equals(
      'patient_mrn',
      text({ minLength: 1, description: 'Medical Record Number of the patient', examples: ['LK100001'] }),
    ),
    coverage_status: equals('coverage_status', coverage_status),
  },
  order: [{ column: 'service_date', descending: true }],
  mrn_column: 'patient_mrn',
  counted: true,
  list: {
    returns: 'pages',
    page_size_max: 500,
    summary: 'List eligibility checks, latest service date first',
  },
  dashboard_columns: [
    'emr_id',
    'service_date',
    'coverage_status',
    'payer_name',
    'plan_name',
    'benefit_count',
    'patient_name',
  ],
});

/** The amounts that people ask for first. */
function summarizeBenefits(benefits: readonly EligibilityBenefit[]): EligibilityCheck['benefits_summary'] {
  return {
    deductible: chooseAmount(benefits, /^(C|deductible)$/i, /\bdeductible\b/i),
    out_of_pocket: chooseAmount(benefits, /^(G|out-of-pocket|oop-max)$/i, /\bout[ -]of[ -]pocket\b|\bstop[ -]loss\b/i),
  };
}

/** Of several amounts, the one for one person, in network, and of the whole period rather than what remains of it. */
function chooseAmount(benefits: readonly EligibilityBenefit[], code: RegExp, name: RegExp): number | null {
  const rank = ({ coverage_level, network_indicator, time_period }: EligibilityBenefit) =>
    (/remain/i.test(time_period ?? '') ? 100 : 0) +
    (coverage_level === 'FAM' ? 10 : coverage_level === null ? 5 : 0) +
    (network_indicator === 'out-of-network' ? 2 : network_indicator === 'in-network' ? 0 : 1);
  const [best] = benefits
    .filter((each) => each.amount !== null && (code.test(each.benefit_type_code ?? '') || name.test(each.benefit_type)))
    .toSorted((a, b) => rank(a) - rank(b));
  return best?.amount ?? null;
}
