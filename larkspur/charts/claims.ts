import { type Static, Type } from 'typebox';
import type { Fragment, Query } from '../database/open.ts';
import type { RecordKind } from '../machine/recordKind.ts';
import { flag, id, idOrNull, longTextOrNull, moment, money, text, textOrNull, usDate } from '../practice/fields.ts';
import { claimInsurance, lineItem, payment } from './claimParts.ts';

const row = Type.Object({
  claimId: id,
  appointmentId: idOrNull,
  serviceDate: usDate,
  claimDate: usDate,
  statusCode: text,
  statusDescription: text,
  claimType: text,
  voidFlag: flag,
  patientId: id,
  mrn: id,
  patientName: text,
  providerId: id,
  providerName: text,
  totalCharge: money,
  totalPayment: money,
  netPayment: money,
  balance: money,
  netAdjustment: money,
  patientResponsibility: money,
  icdCodes: Type.Array(text),
  billingNotes: longTextOrNull,
  insurances: Type.Array(claimInsurance),
  balances: Type.Object({
    invoiceAmount: money,
    totalPayment: money,
    netPayment: money,
    balance: money,
    patientBalance: money,
    patientPayment: money,
    patientResponsibility: money,
    onPlan: text,
  }),
  voidClaim: Type.Object({
    voidToClaimId: textOrNull,
    voidFromClaimId: textOrNull,
    copyToClaimId: textOrNull,
    copyFromClaimId: textOrNull,
  }),
  submissionHistory: Type.Object({
    createdBy: text,
    entries: Type.Array(Type.Object({ date: text, method: text, payer: text, result: text })),
    autoClaimData: Type.Object({ autoCreated: flag, batchNumber: textOrNull }),
  }),
  activityLog: Type.Array(Type.Object({ date: text, action: text, category: text, notes: textOrNull, userName: text })),
  lineItems: Type.Array(lineItem),
  payments: Type.Array(payment),
  createdAt: moment,
  lastModified: moment,
});

export type Claim = Static<typeof row>;

const nothing = '0.00';

export const claims: RecordKind<typeof row> = {
  table: 'claims',
  record: 'claim',
  id: 'claimId',
  row,
  blank: {
    statusCode: 'NEW',
    statusDescription: 'Not yet submitted',
    claimType: 'Professional',
    voidFlag: 'N',
    mrn: '',
    patientName: '',
    providerName: '',
    totalCharge: nothing,
    totalPayment: nothing,
    netPayment: nothing,
    balance: nothing,
    netAdjustment: nothing,
    patientResponsibility: nothing,
    icdCodes: [],
    insurances: [],
    balances: {
      invoiceAmount: nothing,
      totalPayment: nothing,
      netPayment: nothing,
      balance: nothing,
      patientBalance: nothing,
      patientPayment: nothing,
      patientResponsibility: nothing,
      onPlan: 'N',
    },
    voidClaim: { voidToClaimId: null, voidFromClaimId: null, copyToClaimId: null, copyFromClaimId: null },
    submissionHistory: { createdBy: '', entries: [], autoClaimData: { autoCreated: 'N', batchNumber: null } },
    activityLog: [],
    lineItems: [],
    payments: [],
  },
  stamp: 'lastModified',
  made: 'createdAt',
};

export interface ClaimFilters {
  modifiedSince?: string | undefined;
  mrn?: string | undefined;
  statusCode?: string | undefined;
}

export function claimFilter(sql: Query, { modifiedSince, mrn, statusCode }: ClaimFilters): Fragment {
  return sql`
    true
    ${modifiedSince === undefined ? sql`` : sql`and last_modified >= ${new Date(modifiedSince)}`}
    ${mrn === undefined ? sql`` : sql`and patient_id = (select patient_id from patients where mrn = ${mrn})`}
    ${statusCode === undefined ? sql`` : sql`and status_code = ${statusCode}`}`;
}
