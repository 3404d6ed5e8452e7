import { getAlerts } from '../charts/alerts.ts';
import { getBalances } from '../charts/balances.ts';
import { listDocuments } from '../charts/documents.ts';
import { listEncounters } from '../charts/encounters.ts';
import { listFolders } from '../charts/folders.ts';
import { guarantors } from '../charts/guarantors.ts';
import { listMedications } from '../charts/medications.ts';
import { listOrders } from '../charts/orders.ts';
import { listInsurances } from '../charts/patientInsurances.ts';
import { listPatientPharmacies } from '../charts/patientPharmacies.ts';
import { listTelephoneEncounters } from '../charts/telephoneEncounters.ts';
import { getWholePatient } from '../charts/wholePatient.ts';
import type { Context } from '../context.ts';
import { listHistory } from '../machine/history.ts';
import { listRecords } from '../machine/recordKind.ts';
import { facilities } from '../practice/facilities.ts';
import { pharmacies } from '../practice/pharmacies.ts';
import { getPractice } from '../practice/practice.ts';
import { providers } from '../practice/providers.ts';
import { staff } from '../practice/staff.ts';
import type { Chart } from './chartPage.ts';

const HISTORY_ROWS = 200;
const PART_ROWS = { page: 1, pageSize: 200 };
/** More than any practice has: all names at once. */
const ALL = { page: 1, pageSize: 10_000 };

export async function readChart({ sql }: Context, patientId: string): Promise<Chart> {
  const names = {
    provider: new Map((await listRecords(sql, providers, ALL)).rows.map((one) => [one.providerId, one.displayName])),
    staff: new Map((await listRecords(sql, staff, ALL)).rows.map((one) => [one.staffId, one.displayName])),
    facility: new Map((await listRecords(sql, facilities, ALL)).rows.map((one) => [one.facilityId, one.name])),
    pharmacy: new Map((await listRecords(sql, pharmacies, ALL)).rows.map((one) => [one.pharmacyId, one.name])),
  };
  const clock = clockIn((await getPractice(sql)).timeZone);
  const patient = await getWholePatient(sql, patientId);
  return {
    patient,
    insurances: await listInsurances(sql, patientId),
    guarantors: (await listRecords(sql, guarantors, PART_ROWS, sql`patient_id = ${patientId}`)).rows,
    balances: await getBalances(sql, patientId),
    alerts: await getAlerts(sql, patientId),
    medications: await listMedications(sql, patientId),
    pharmacies: await listPatientPharmacies(sql, patientId),
    visits: (await listEncounters(sql, patientId, PART_ROWS)).rows,
    encounters: await listTelephoneEncounters(sql, patientId),
    orders: (await listOrders(sql, patient.mrn, PART_ROWS)).rows,
    folders: await listFolders(sql, patientId),
    documents: (await listDocuments(sql, patientId, PART_ROWS)).rows,
    history: await listHistory(sql, patientId, HISTORY_ROWS),
    name: (kind, id) => names[kind].get(id) ?? `${id} (removed)`,
    time: (at) => clock.format(at),
  };
}

function clockIn(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  });
}
