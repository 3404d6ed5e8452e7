import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { EligibilityBenefit, EligibilityCheckSource } from '../../model/records/eligibilityChecks.ts';
import { defineList } from './lists.ts';
import { type LarkspurOperation, listing } from './operation.ts';
import {
  blankToNull,
  dollars,
  id,
  isoDate,
  isoInstant,
  moneyOrNull,
  numberOrNull,
  requiredDate,
  text,
  textOrNull,
} from './values.ts';

const Benefit = Type.Object({
  lineNumber: Type.Integer(),
  typeCode: textOrNull,
  typeName: text,
  levelCode: textOrNull,
  serviceTypeCodes: Type.Array(text),
  insuranceType: textOrNull,
  timePeriod: textOrNull,
  amount: moneyOrNull,
  percent: numberOrNull,
  networkCode: textOrNull,
  messages: Type.Array(text),
  segment: textOrNull,
});

const checks = defineList({
  path: '/api/eligibility-checks',
  row: Compile(
    Type.Object({
      checkId: id,
      patientId: id,
      mrn: id,
      patientName: textOrNull,
      birthDate: textOrNull,
      appointmentId: textOrNull,
      providerName: textOrNull,
      companyName: textOrNull,
      subscriberName: textOrNull,
      subscriberNumber: textOrNull,
      relationshipCode: textOrNull,
      planName: textOrNull,
      statusCode: text,
      statusMessage: textOrNull,
      serviceDate: text,
      respondedAt: textOrNull,
      planBegins: textOrNull,
      planEnds: textOrNull,
      benefits: Type.Array(Benefit),
    }),
  ),
  toSource: (row): EligibilityCheckSource => ({
    ehr_id: row.checkId,
    patient_mrn: row.mrn,
    emr_patient_id: row.patientId,
    patient_name: blankToNull(row.patientName),
    patient_dob: isoDate(row.birthDate),
    emr_encounter_id: blankToNull(row.appointmentId),
    provider_name: blankToNull(row.providerName),
    payer_name: blankToNull(row.companyName),
    subscriber_name: blankToNull(row.subscriberName),
    subscriber_member_id: blankToNull(row.subscriberNumber),
    patient_relationship: toRelationship(blankToNull(row.relationshipCode)),
    plan_name: blankToNull(row.planName),
    coverage_status: statuses.get(row.statusCode) ?? 'unknown',
    status_message: blankToNull(row.statusMessage),
    service_date: requiredDate(row.serviceDate),
    response_at: isoInstant(row.respondedAt),
    plan_begin_date: isoDate(row.planBegins),
    plan_end_date: isoDate(row.planEnds),
    benefits: row.benefits.map(toBenefit),
  }),
});

const statuses = new Map<string, EligibilityCheckSource['coverage_status']>([
  ['ACT', 'active'],
  ['INA', 'inactive'],
  ['ERR', 'error'],
]);

function toRelationship(code: string | null): EligibilityCheckSource['patient_relationship'] {
  if (code === null) return null;
  return code === '01' ? 'self' : 'dependent';
}

function toBenefit(row: Static<typeof Benefit>): EligibilityBenefit {
  const level = blankToNull(row.levelCode);
  return {
    line_number: row.lineNumber,
    benefit_type: row.typeName,
    benefit_type_code: blankToNull(row.typeCode),
    coverage_level: level === 'IND' || level === 'FAM' ? level : null,
    service_type_codes: row.serviceTypeCodes,
    insurance_type: blankToNull(row.insuranceType),
    time_period: blankToNull(row.timePeriod),
    amount: dollars(row.amount),
    percent: row.percent,
    network_indicator: networks.get(row.networkCode) ?? 'unknown',
    messages: row.messages,
    raw_segment: blankToNull(row.segment),
  };
}

/** The codes of element EB12. */
const networks = new Map<string | null, EligibilityBenefit['network_indicator']>([
  ['Y', 'in-network'],
  ['N', 'out-of-network'],
  ['W', 'not-applicable'],
]);

export const eligibility_operations: readonly LarkspurOperation[] = [
  { operation: 'listEligibilityChecks', open: listing(checks) },
];
