import { Type } from 'typebox';
import type { Fragment, Query } from '../database/open.ts';
import {
  flag,
  id,
  idOrNull,
  longTextOrNull,
  money,
  moneyOrNull,
  text,
  textOrNull,
  timestamp,
  usDate,
  usDateOrNull,
} from '../records/fields.ts';
import { matchesSearch } from '../records/foldName.ts';
import { type Page, type RowOf, recordKind } from '../records/recordKind.ts';

const claimInsurance = Type.Object({
  insuranceId: id,
  name: text,
  insuranceType: text,
  claimIndicator: text,
  claimIndicatorDescription: text,
  sequenceNumber: text,
  subscriberName: text,
  subscriberNumber: text,
  subscriberBirthDate: usDateOrNull,
  subscriberRelation: text,
  groupName: textOrNull,
  groupNumber: textOrNull,
  providerNumber: textOrNull,
  paymentSource: text,
  assignBenefits: text,
  address1: text,
  address2: textOrNull,
  city: text,
  state: text,
  zip: text,
  medicaidId: textOrNull,
});

const lineItem = Type.Object({
  lineItemId: id,
  lineNumber: Type.Integer(),
  cptCode: text,
  description: text,
  modifiers: Type.Array(text),
  units: Type.Number(),
  billedAmount: money,
  allowedAmount: money,
  billedUnitFee: money,
  icdPointers: Type.Array(text),
  placeOfService: text,
  typeOfService: textOrNull,
  serviceDateStart: usDate,
  serviceDateEnd: usDate,
  renderingNpi: textOrNull,
  orderingNpi: textOrNull,
  referringNpi: textOrNull,
});

const payment = Type.Object({
  paymentId: id,
  checkNumber: textOrNull,
  paymentDate: usDate,
  amount: money,
  paymentType: text,
  payerName: text,
  payerType: text,
  adjustment: money,
  deductible: money,
  coinsurance: money,
  allowed: money,
  memberBalance: money,
  withheld: money,
  eraClaimStatus: textOrNull,
  eraClaimStatusCode: textOrNull,
  eraPayerName: textOrNull,
  eraCheckAmount: moneyOrNull,
  eraAdjustmentCodes: Type.Union([Type.Record(Type.String(), money), Type.Null()]),
});

const ZERO = '0.00';

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
  createdAt: timestamp,
  lastModified: timestamp,
});

export const claims = recordKind(
  { table: 'claims', record: 'claim', id: 'claimId', created_column: 'createdAt', updated_column: 'lastModified' },
  row,
  {
    statusCode: 'NEW',
    statusDescription: 'Not yet submitted',
    claimType: 'Professional',
    voidFlag: 'N',
    mrn: '',
    patientName: '',
    providerName: '',
    totalCharge: ZERO,
    totalPayment: ZERO,
    netPayment: ZERO,
    balance: ZERO,
    netAdjustment: ZERO,
    patientResponsibility: ZERO,
    icdCodes: [],
    insurances: [],
    balances: {
      invoiceAmount: ZERO,
      totalPayment: ZERO,
      netPayment: ZERO,
      balance: ZERO,
      patientBalance: ZERO,
      patientPayment: ZERO,
      patientResponsibility: ZERO,
      onPlan: 'N',
    },
    voidClaim: { voidToClaimId: null, voidFromClaimId: null, copyToClaimId: null, copyFromClaimId: null },
    submissionHistory: { createdBy: '', entries: [], autoClaimData: { autoCreated: 'N', batchNumber: null } },
    activityLog: [],
    lineItems: [],
    payments: [],
  },
);

export type Claim = RowOf<typeof claims>;

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

/** Finds claims in which every search term occurs in the claim number, MRN or patient name. Newest service date first. */
export async function searchClaims(sql: Query, search: string, statusCode: string, { page, pageSize }: Page) {
  const ofStatus = statusCode === '' ? sql`true` : sql`status_code = ${statusCode}`;
  const candidates = await sql<Pick<Claim, 'claimId' | 'mrn' | 'patientName'>[]>`
    select claim_id, mrn, patient_name from claims where ${ofStatus}`;
  const matchingClaims = candidates.filter(({ claimId, mrn, patientName }) =>
    matchesSearch(search, [claimId, mrn, patientName]),
  );
  const matches = sql`claim_id = any(${matchingClaims.map(({ claimId }) => claimId)})`;
  const [counted] = await sql<{ total: number }[]>`select count(*)::int as total from claims where ${matches}`;
  const rows = await sql<Claim[]>`
    select * from claims where ${matches} order by service_date desc, length(claim_id) desc, claim_id desc
    limit ${pageSize} offset ${(page - 1) * pageSize}`;
  return { total: counted?.total ?? 0, page, pageSize, rows: [...rows] };
}

export async function listClaimStatuses(sql: Query): Promise<{ statusCode: string; statusDescription: string }[]> {
  return sql<{ statusCode: string; statusDescription: string }[]>`
    select distinct status_code, status_description from claims order by status_description`;
}
