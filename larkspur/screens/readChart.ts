import { type Alerts, type Balances, getAlerts, getBalances } from '../charts/alertsAndBalances.ts';
import { type Document, listDocuments, listFolders } from '../charts/documents.ts';
import { type Encounter, listEncounters, listProblems, type Problem } from '../charts/encounters.ts';
import { type Guarantor, guarantors } from '../charts/guarantors.ts';
import { listMedications, type Medication } from '../charts/medications.ts';
import { listPatientNotes, listVisitNotes, type PatientNote, type VisitNote } from '../charts/notes.ts';
import { listOrders, type Order } from '../charts/orders.ts';
import { getPatientDetails, type PatientDetails } from '../charts/patientDetails.ts';
import { type ListedInsurance, listInsurances } from '../charts/patientInsurances.ts';
import { listPatientPharmacies, type PatientPharmacy } from '../charts/patientPharmacies.ts';
import { listPayments, type Payment } from '../charts/payments.ts';
import { listReferralsOfPatient, type Referral } from '../charts/referrals.ts';
import { listTasks, type TaskDetails } from '../charts/tasks.ts';
import { listTelephoneEncounters, type TelephoneEncounterDetails } from '../charts/telephoneEncounters.ts';
import type { Context } from '../context.ts';
import type { Query } from '../database/open.ts';
import { facilities, pharmacies } from '../practice/organizations.ts';
import { getPractice, todayAtPractice } from '../practice/practice.ts';
import { providers } from '../practice/providers.ts';
import { visitStatuses, visitTypes } from '../practice/scheduling.ts';
import { staff } from '../practice/staff.ts';
import { type HistoryEntry, listHistory } from '../records/history.ts';
import { listRecords } from '../records/recordKind.ts';
import { listNewAnchors } from './apiEntries.ts';
import type { Content, Row } from './html.ts';

/** All data on a patient's chart page. */
export interface Chart {
  patient: PatientDetails;
  insurances: ListedInsurance[];
  guarantors: Guarantor[];
  balances: Balances;
  payments: Payment[];
  alerts: Alerts;
  encounters: Encounter[];
  problems: Problem[];
  telephoneEncounters: TelephoneEncounterDetails[];
  tasks: TaskDetails[];
  visitNotes: VisitNote[];
  patientNotes: PatientNote[];
  orders: Order[];
  referrals: Referral[];
  folders: string[];
  documents: Document[];
  medications: Medication[];
  pharmacies: PatientPharmacy[];
  history: HistoryEntry[];
  /** Whether the element with this id shows what was written through the API within the last day. */
  isNew: (id: string) => boolean;
  /** The name of a provider, staff member, facility or pharmacy. */
  name: (kind: 'provider' | 'staff' | 'facility' | 'pharmacy', id: string) => string;
  visitType: (code: string) => string;
  visitStatus: (code: string) => string;
  /** Today at the practice, MM/DD/YYYY. */
  today: string;
  /** Formats a time in the practice's time zone. */
  time: (at: Date) => string;
}

const HISTORY_ROWS = 200;
const SECTION_ROWS = { page: 1, pageSize: 200 };
const ALL = { page: 1, pageSize: 10_000 };

export async function readChart({ sql, now }: Context, patientId: string): Promise<Chart> {
  const names = {
    provider: new Map((await listRecords(sql, providers, ALL)).rows.map((row) => [row.providerId, row.displayName])),
    staff: new Map((await listRecords(sql, staff, ALL)).rows.map((row) => [row.staffId, row.displayName])),
    facility: new Map((await listRecords(sql, facilities, ALL)).rows.map((row) => [row.facilityId, row.name])),
    pharmacy: new Map((await listRecords(sql, pharmacies, ALL)).rows.map((row) => [row.pharmacyId, row.name])),
  };
  const time = createTimeFormat((await getPractice(sql)).timeZone);
  const patient = await getPatientDetails(sql, patientId);
  const codes = await readVisitCodes(sql);
  const newAnchors = await listNewAnchors(sql, now());
  return {
    patient,
    insurances: await listInsurances(sql, patientId),
    guarantors: (await listRecords(sql, guarantors, SECTION_ROWS, sql`patient_id = ${patientId}`)).rows,
    balances: await getBalances(sql, patientId),
    payments: (await listPayments(sql, patientId, ALL)).rows.toReversed(),
    alerts: await getAlerts(sql, patientId),
    medications: await listMedications(sql, patientId),
    pharmacies: await listPatientPharmacies(sql, patientId),
    encounters: (await listEncounters(sql, patientId, SECTION_ROWS)).rows,
    problems: await listProblems(sql, patientId),
    telephoneEncounters: await listTelephoneEncounters(sql, patientId),
    tasks: (await listTasks(sql, patientId, SECTION_ROWS)).rows.toReversed(),
    visitNotes: (await listVisitNotes(sql, patientId, SECTION_ROWS)).rows.toReversed(),
    patientNotes: (await listPatientNotes(sql, patientId, SECTION_ROWS)).rows.toReversed(),
    orders: (await listOrders(sql, patient.mrn, SECTION_ROWS)).rows,
    referrals: (await listReferralsOfPatient(sql, patientId, SECTION_ROWS)).rows,
    folders: await listFolders(sql, patientId),
    documents: (await listDocuments(sql, patientId, SECTION_ROWS)).rows,
    history: await listHistory(sql, patientId, HISTORY_ROWS),
    isNew: (id) => newAnchors.has(id),
    name: (kind, id) => names[kind].get(id) ?? `${id} (removed)`,
    ...codes,
    today: await todayAtPractice(sql, now()),
    time,
  };
}

/** The descriptions of the codes of visits. A code that the practice has removed stays as it is. */
export async function readVisitCodes(sql: Query): Promise<Pick<Chart, 'visitType' | 'visitStatus'>> {
  const types = new Map((await listRecords(sql, visitTypes, ALL)).rows.map((row) => [row.code, row.description]));
  const statuses = new Map((await listRecords(sql, visitStatuses, ALL)).rows.map((row) => [row.code, row.description]));
  return { visitType: (code) => types.get(code) ?? code, visitStatus: (code) => statuses.get(code) ?? code };
}

/** A row of a table of the chart that shows one record. */
export function chartRow({ isNew }: Chart, id: string, cells: Content[]): Row {
  return { id, isNew: isNew(id), cells };
}

/** Formats times in a time zone. */
export function createTimeFormat(timeZone: string): (at: Date) => string {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  });
  return (at) => format.format(at);
}
