import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { ClaimSource } from '../../model/records/claims.ts';
import { Insurance, LineItem, Payment, toInsurance, toLineItem, toPayment } from './claimParts.ts';
import { defineList } from './lists.ts';
import { blankToNull, dollars, flag, id, isoDate, money, requiredDate, text, textOrNull } from './values.ts';

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

export const claims = defineList({
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
