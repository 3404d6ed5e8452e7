import { type Static, Type } from 'typebox';
import type { Fragment, Query } from '../database/open.ts';
import type { Page, RecordKind } from '../machine/recordKind.ts';
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
}

export function claimFilter(sql: Query, { modifiedSince, mrn }: ClaimFilters): Fragment {
  return sql`
    true
    ${modifiedSince === undefined ? sql`` : sql`and last_modified >= ${new Date(modifiedSince)}`}
    ${mrn === undefined ? sql`` : sql`and patient_id = (select patient_id from patients where mrn = ${mrn})`}`;
}

/** What the clinic screens search: every word stands in the claim's number, the MRN or the name; newest service first. */
export async function searchClaims(sql: Query, words: string, statusCode: string, { page, pageSize }: Page) {
  const found = words
    .split(/[\s,]+/)
    .filter((word) => word !== '')
    .reduce(
      (filter, word) =>
        sql`${filter} and strpos(lower(concat_ws(' ', claim_id, mrn, patient_name)), lower(${word})) > 0`,
      statusCode === '' ? sql`true` : sql`status_code = ${statusCode}`,
    );
  const [counted] = await sql<{ total: number }[]>`select count(*)::int as total from claims where ${found}`;
  const rows = await sql<Claim[]>`
    select * from claims where ${found} order by service_date desc, length(claim_id) desc, claim_id desc
    limit ${pageSize} offset ${(page - 1) * pageSize}`;
  return { total: counted?.total ?? 0, page, pageSize, rows: [...rows] };
}

export async function listClaimStatuses(sql: Query): Promise<{ statusCode: string; statusDescription: string }[]> {
  return sql<{ statusCode: string; statusDescription: string }[]>`
    select distinct status_code, status_description from claims order by status_description`;
}
