import { Type } from 'typebox';
import { getAlerts, getBalances } from '../charts/alertsAndBalances.ts';
import { claimFilter, claims } from '../charts/claims.ts';
import { createClaim } from '../charts/createClaim.ts';
import { listEncounters } from '../charts/encounters.ts';
import { listMedications } from '../charts/medications.ts';
import { listOrders } from '../charts/orders.ts';
import { addPatientPharmacy, listPatientPharmacies } from '../charts/patientPharmacies.ts';
import { findMrn, patients } from '../charts/patients.ts';
import type { Query } from '../database/open.ts';
import { type ReadOperation, read, write } from '../http/operation.ts';
import { pharmacies } from '../practice/organizations.ts';
import { todayAtPractice } from '../practice/practice.ts';
import { flag, text } from '../records/fields.ts';
import { getRecord, listRecords, type Page, requireActive } from '../records/recordKind.ts';
import { optional, pageFields, parsePage, recordId, writeBody } from './schemas.ts';

export const isoTimestamp = Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9]{2}:[0-9]{2})$' });

export const chartOperations = [
  readOfPatient('get_balances', 'balances', getBalances),
  readOfPatient('get_alerts', 'alerts', getAlerts),
  listOfPatient('list_encounters', 'encounters', listEncounters),
  readOfPatient('list_medications', 'medications', async (sql, patientId) => ({
    rows: await listMedications(sql, patientId),
  })),
  readOfPatient('list_patient_pharmacies', 'pharmacies', async (sql, patientId) => ({
    rows: await listPatientPharmacies(sql, patientId),
  })),
  write({
    name: 'add_patient_pharmacy',
    path: '/api/patients/:patientId/pharmacies',
    body: writeBody({ pharmacyId: recordId, primaryFlag: optional(flag) }),
    patientMrn: (sql, params) => findMrn(sql, params.patientId),
    write: async ({ sql, params, body }) => {
      await getRecord(sql, patients, params.patientId);
      await requireActive(sql, pharmacies, body.pharmacyId);
      return addPatientPharmacy(sql, params.patientId, body.pharmacyId, body.primaryFlag === 'Y');
    },
  }),
  read({
    name: 'list_orders',
    path: '/api/orders',
    query: Type.Object({ ...pageFields, mrn: Type.Optional(text) }),
    handle: ({ sql, query }) => listOrders(sql, query.mrn, parsePage(query)),
  }),
  read({
    name: 'list_claims',
    path: '/api/claims',
    query: Type.Object({ ...pageFields, modifiedSince: Type.Optional(isoTimestamp), mrn: Type.Optional(text) }),
    handle: ({ sql, query }) => listRecords(sql, claims, parsePage(query), claimFilter(sql, query)),
  }),
  read({
    name: 'get_claim',
    path: '/api/claims/:claimId',
    handle: ({ sql, params }) => getRecord(sql, claims, params.claimId),
  }),
  write({
    name: 'create_claim',
    path: '/api/appointments/:appointmentId/claim',
    body: writeBody({}),
    patientMrn: async (sql, params) => {
      const [visit] = await sql<{ mrn: string }[]>`
        select mrn from appointments join patients using (patient_id) where appointment_id = ${params.appointmentId}`;
      return visit?.mrn;
    },
    write: async ({ sql, context, session, params }) => {
      const at = context.now();
      const creation = { at, today: await todayAtPractice(sql, at), by: session.displayName };
      const created = await createClaim(sql, params.appointmentId, creation);
      return { record_id: created.record_id, changes: [created] };
    },
  }),
];

function readOfPatient(
  name: string,
  segment: string,
  get: (sql: Query, patientId: string) => Promise<unknown>,
): ReadOperation {
  return read({
    name,
    path: `/api/patients/:patientId/${segment}`,
    handle: async ({ sql, params }) => {
      await getRecord(sql, patients, params.patientId);
      return get(sql, params.patientId);
    },
  });
}

/** Declares a list of one patient's records. */
export function listOfPatient(
  name: string,
  segment: string,
  list: (sql: Query, patientId: string, page: Page) => Promise<unknown>,
): ReadOperation {
  return read({
    name,
    path: `/api/patients/:patientId/${segment}`,
    query: Type.Object(pageFields),
    handle: async ({ sql, params, query }) => {
      await getRecord(sql, patients, params.patientId);
      return list(sql, params.patientId, parsePage(query));
    },
  });
}
