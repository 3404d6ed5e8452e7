import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { ClaimSource } from '../../model/records/claims.ts';
import type { Operations } from '../operations/operations.ts';
import { path, requireBody } from './call.ts';
import { defineList } from './lists.ts';
import { defineWrite, type LarkspurOperation, listing, reading, toWritten } from './operation.ts';
import type { SendRequest } from './session.ts';
import {
  blankToNull,
  dollars,
  flag,
  id,
  isoDate,
  money,
  moneyOrNull,
  requiredDate,
  text,
  textOrNull,
} from './values.ts';

const Insurance = Type.Object({
  insuranceId: textOrNull,
  name: textOrNull,
  insuranceType: textOrNull,
  claimIndicator: textOrNull,
  claimIndicatorDescription: textOrNull,
  sequenceNumber: textOrNull,
  subscriberName: textOrNull,
  subscriberNumber: textOrNull,
  subscriberBirthDate: textOrNull,
  subscriberRelation: textOrNull,
  groupName: textOrNull,
  groupNumber: textOrNull,
  providerNumber: textOrNull,
  paymentSource: textOrNull,
  assignBenefits: textOrNull,
  address1: textOrNull,
  address2: textOrNull,
  city: textOrNull,
  state: textOrNull,
  zip: textOrNull,
  medicaidId: textOrNull,
});

function toInsurance(row: Static<typeof Insurance>): ClaimSource['insurances'][number] {
  return {
    insurance_id: blankToNull(row.insuranceId),
    insurance_name: blankToNull(row.name),
    insurance_type: blankToNull(row.insuranceType),
    claim_indicator: blankToNull(row.claimIndicator),
    claim_indicator_description: blankToNull(row.claimIndicatorDescription),
    sequence_number: blankToNull(row.sequenceNumber),
    subscriber_name: blankToNull(row.subscriberName),
    subscriber_number: blankToNull(row.subscriberNumber),
    subscriber_dob: isoDate(row.subscriberBirthDate),
    subscriber_relation: blankToNull(row.subscriberRelation),
    group_name: blankToNull(row.groupName),
    group_number: blankToNull(row.groupNumber),
    provider_number: blankToNull(row.providerNumber),
    payment_source: blankToNull(row.paymentSource),
    assign_benefits: blankToNull(row.assignBenefits),
    insurance_address_1: blankToNull(row.address1),
    insurance_address_2: blankToNull(row.address2),
    insurance_city: blankToNull(row.city),
    insurance_state: blankToNull(row.state),
    insurance_zip: blankToNull(row.zip),
    medicaid_id: blankToNull(row.medicaidId),
  };
}

const LineItem = Type.Object({
  lineItemId: id,
  lineNumber: Type.Integer(),
  cptCode: textOrNull,
  description: textOrNull,
  modifiers: Type.Array(text),
  units: Type.Number(),
  billedAmount: money,
  allowedAmount: moneyOrNull,
  billedUnitFee: moneyOrNull,
  icdPointers: Type.Array(text),
  placeOfService: textOrNull,
  typeOfService: textOrNull,
  serviceDateStart: textOrNull,
  serviceDateEnd: textOrNull,
  renderingNpi: textOrNull,
  orderingNpi: textOrNull,
  referringNpi: textOrNull,
});

function toLineItem(row: Static<typeof LineItem>): ClaimSource['line_items'][number] {
  return {
    id: row.lineItemId,
    line_number: row.lineNumber,
    cpt_code: blankToNull(row.cptCode),
    description: blankToNull(row.description),
    modifiers: row.modifiers,
    units: row.units,
    billed_amount: dollars(row.billedAmount),
    allowed_amount: dollars(row.allowedAmount),
    billed_unit_fee: dollars(row.billedUnitFee),
    icd_pointers: row.icdPointers,
    place_of_service: blankToNull(row.placeOfService),
    type_of_service: blankToNull(row.typeOfService),
    service_date_start: isoDate(row.serviceDateStart),
    service_date_end: isoDate(row.serviceDateEnd),
    rendering_provider_npi: blankToNull(row.renderingNpi),
    ordering_provider_npi: blankToNull(row.orderingNpi),
    referring_provider_npi: blankToNull(row.referringNpi),
  };
}

const Payment = Type.Object({
  paymentId: id,
  checkNumber: textOrNull,
  paymentDate: textOrNull,
  amount: money,
  paymentType: textOrNull,
  payerName: textOrNull,
  payerType: textOrNull,
  adjustment: moneyOrNull,
  deductible: moneyOrNull,
  coinsurance: moneyOrNull,
  allowed: moneyOrNull,
  memberBalance: moneyOrNull,
  withheld: moneyOrNull,
  eraClaimStatus: textOrNull,
  eraClaimStatusCode: textOrNull,
  eraPayerName: textOrNull,
  eraCheckAmount: moneyOrNull,
  eraAdjustmentCodes: Type.Union([Type.Record(Type.String(), money), Type.Null()]),
});

function toPayment(row: Static<typeof Payment>): ClaimSource['payments'][number] {
  const codes = row.eraAdjustmentCodes;
  return {
    id: row.paymentId,
    emr_payment_id: row.paymentId,
    check_number: blankToNull(row.checkNumber),
    payment_date: isoDate(row.paymentDate),
    amount: dollars(row.amount),
    payment_type: blankToNull(row.paymentType),
    payer_name: blankToNull(row.payerName),
    payer_type: blankToNull(row.payerType),
    adjustment: dollars(row.adjustment),
    deductible: dollars(row.deductible),
    coinsurance: dollars(row.coinsurance),
    allowed: dollars(row.allowed),
    member_balance: dollars(row.memberBalance),
    withheld: dollars(row.withheld),
    era_claim_status: blankToNull(row.eraClaimStatus),
    era_claim_status_code: blankToNull(row.eraClaimStatusCode),
    era_payer_name: blankToNull(row.eraPayerName),
    era_check_amount: dollars(row.eraCheckAmount),
    era_adjustment_codes:
      codes && Object.fromEntries(Object.entries(codes).map(([code, amount]) => [code, dollars(amount)])),
  };
}

const SubmissionHistory = Type.Object({
  createdBy: textOrNull,
  entries: Type.Array(Type.Object({ date: text, method: textOrNull, payer: textOrNull, result: textOrNull })),
  autoClaimData: Type.Object({ autoCreated: flag, batchNumber: textOrNull }),
});

const Row = Type.Object({
  claimId: id,
  appointmentId: textOrNull,
  serviceDate: text,
  claimDate: textOrNull,
  statusCode: textOrNull,
  statusDescription: textOrNull,
  claimType: textOrNull,
  voidFlag: flag,
  patientId: textOrNull,
  mrn: textOrNull,
  patientName: textOrNull,
  providerId: textOrNull,
  providerName: textOrNull,
  totalCharge: money,
  totalPayment: money,
  netPayment: money,
  balance: money,
  netAdjustment: money,
  patientResponsibility: money,
  icdCodes: Type.Array(text),
  billingNotes: textOrNull,
  insurances: Type.Array(Insurance),
  balances: Type.Object({
    invoiceAmount: money,
    totalPayment: money,
    netPayment: money,
    balance: money,
    patientBalance: money,
    patientPayment: money,
    patientResponsibility: money,
    onPlan: textOrNull,
  }),
  voidClaim: Type.Object({
    voidToClaimId: textOrNull,
    voidFromClaimId: textOrNull,
    copyToClaimId: textOrNull,
    copyFromClaimId: textOrNull,
  }),
  submissionHistory: SubmissionHistory,
  activityLog: Type.Array(
    Type.Object({ date: text, action: textOrNull, category: textOrNull, notes: textOrNull, userName: textOrNull }),
  ),
  lineItems: Type.Array(LineItem),
  payments: Type.Array(Payment),
});
type Row = Static<typeof Row>;

const claims = defineList({
  path: '/api/claims',
  row: Compile(Row),
  toSource: (row): ClaimSource => ({
    ehr_id: row.claimId,
    patient_mrn: blankToNull(row.mrn),
    emr_appointment_id: blankToNull(row.appointmentId),
    service_date: requiredDate(row.serviceDate),
    claim_date: isoDate(row.claimDate),
    claim_status: blankToNull(row.statusCode),
    claim_status_description: blankToNull(row.statusDescription),
    claim_type: blankToNull(row.claimType),
    void_flag: row.voidFlag === 'Y',
    emr_patient_id: blankToNull(row.patientId),
    patient_name: blankToNull(row.patientName),
    emr_provider_id: blankToNull(row.providerId),
    provider_name: blankToNull(row.providerName),
    total_charge: dollars(row.totalCharge),
    total_payment: dollars(row.totalPayment),
    net_payment: dollars(row.netPayment),
    balance: dollars(row.balance),
    net_adjustment: dollars(row.netAdjustment),
    patient_responsibility: dollars(row.patientResponsibility),
    icd_codes: row.icdCodes,
    billing_notes: blankToNull(row.billingNotes),
    insurances: row.insurances.map(toInsurance),
    balances: toBalances(row.balances),
    void_claim: {
      void_to_claim_id: blankToNull(row.voidClaim.voidToClaimId),
      void_from_claim_id: blankToNull(row.voidClaim.voidFromClaimId),
      copy_to_claim_id: blankToNull(row.voidClaim.copyToClaimId),
      copy_from_claim_id: blankToNull(row.voidClaim.copyFromClaimId),
    },
    submission_history: toSubmissionHistory(row.submissionHistory),
    billing_activity_log: row.activityLog.map((each) => ({
      date: isoDate(each.date) ?? blankToNull(each.date),
      action: blankToNull(each.action),
      category: blankToNull(each.category),
      notes: blankToNull(each.notes),
      user_name: blankToNull(each.userName),
    })),
    line_items: row.lineItems.map(toLineItem),
    payments: row.payments.map(toPayment),
  }),
});

function toBalances(balances: Row['balances']): ClaimSource['balances'] {
  return {
    invoice_amount: balances.invoiceAmount,
    total_payment: balances.totalPayment,
    net_payment: balances.netPayment,
    balance: balances.balance,
    patient_balance: balances.patientBalance,
    patient_payment: balances.patientPayment,
    patient_responsibility: balances.patientResponsibility,
    on_plan: blankToNull(balances.onPlan),
  };
}

function toSubmissionHistory({ createdBy, entries, autoClaimData }: Row['submissionHistory']) {
  return {
    created_by: blankToNull(createdBy),
    entries: entries.map(({ date, method, payer, result }) => ({
      date: isoDate(date) ?? blankToNull(date),
      method: blankToNull(method),
      payer: blankToNull(payer),
      result: blankToNull(result),
    })),
    auto_claim_data: {
      auto_created: autoClaimData.autoCreated === 'Y',
      batch_number: blankToNull(autoClaimData.batchNumber),
    },
  };
}

async function getClaim(request: SendRequest, ehr_id: string): Promise<ClaimSource | undefined> {
  const reply = await request({ method: 'GET', path: path`/api/claims/${ehr_id}`, schema: claims.row });
  if ('code' in reply && reply.code === 'NOT_FOUND') return undefined;
  return claims.toSource(requireBody(reply));
}

const createClaim = defineWrite<Operations['createClaim']>(
  'create_claim',
  (input) => ({ path: path`/api/appointments/${input.appointment_ehr_id}/claim`, body: {} }),
  toWritten,
);

export const claim_operations: readonly LarkspurOperation[] = [
  { operation: 'listClaims', open: listing(claims) },
  { operation: 'getClaim', open: reading(getClaim) },
  { operation: 'createClaim', open: createClaim },
];
