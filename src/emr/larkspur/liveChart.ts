import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { LiveAlerts, LiveGuarantor, LiveInsurance } from '../../model/liveChart.ts';
import type { PatientSource } from '../../model/records/patients.ts';
import { type EmrEncounter, findsNobody, hasSearchedName, type PatientSearch } from '../connector.ts';
import { collect } from '../implementations.ts';
import { path, requireBody } from './call.ts';
import { defineList, readPages } from './lists.ts';
import { patients } from './patients.ts';
import { free_statuses } from './schedule.ts';
import type { SendRequest } from './session.ts';
import { blankToNull, flag, id, isoDate, text, textOrNull, usDate } from './values.ts';

export async function searchPatients(request: SendRequest, search: PatientSearch): Promise<PatientSource[]> {
  if (findsNobody(search)) return [];
  const params = {
    mrn: search.mrn,
    firstName: search.first_name,
    lastName: search.last_name,
    phone: search.phone,
    birthDate: search.dob && usDate(search.dob),
  };
  const criteria = Object.entries(params).filter((pair): pair is [string, string] => pair[1] !== undefined);
  const found = await collect(readPages(request, patients, Object.fromEntries(criteria)));
  // Larkspur searches names by prefix.
  return found.filter((patient) => hasSearchedName(patient, search));
}

export async function listEncounters(request: SendRequest, patient_ehr_id: string): Promise<EmrEncounter[]> {
  const rows = await collect(
    readPages(request, { ...encounters, path: path`/api/patients/${patient_ehr_id}/encounters` }),
  );
  return rows.map(({ ehr_id: id, ...fields }) => ({ id, ...fields }));
}

export async function listGuarantors(request: SendRequest, patient_ehr_id: string): Promise<LiveGuarantor[]> {
  const rows = await collect(
    readPages(request, { ...guarantors, path: path`/api/patients/${patient_ehr_id}/guarantors` }),
  );
  return rows.map(({ ehr_id: id, ...fields }) => ({ id, ...fields }));
}

export async function listPatientInsurances(request: SendRequest, patient_ehr_id: string): Promise<LiveInsurance[]> {
  const rows = await collect(
    readPages(request, { ...insurances, path: path`/api/patients/${patient_ehr_id}/insurances` }),
  );
  return rows
    .filter((row) => row.active)
    .map(({ ehr_id, active: _active, ...fields }) => ({ emr_insurance_id: ehr_id, ...fields }));
}

export async function getBalances(request: SendRequest, patient_ehr_id: string) {
  const url = path`/api/patients/${patient_ehr_id}/balances`;
  const { patientBalance, accountBalance } = requireBody(await request({ method: 'GET', path: url, schema: balances }));
  return { patient_balance: Number(patientBalance), account_balance: Number(accountBalance) };
}

export async function getAlerts(request: SendRequest, patient_ehr_id: string): Promise<LiveAlerts> {
  const url = path`/api/patients/${patient_ehr_id}/alerts`;
  const found = requireBody(await request({ method: 'GET', path: url, schema: alerts }));
  return {
    billing_alert: found.billingAlert === 'Y',
    billing_notes: blankToNull(found.billingNotes),
    global_alerts: found.globalAlerts.map((each) => ({
      name: each.name,
      alert_type: blankToNull(each.alertType),
      notes: blankToNull(each.notes),
      priority: blankToNull(each.priority),
      expiry_date: isoDate(each.expiryDate),
    })),
  };
}

const toBooleanText = (value: 'Y' | 'N') => (value === 'Y' ? 'true' : 'false');

const encounters = defineList({
  path: '',
  row: Compile(
    Type.Object({
      encounterId: id,
      date: textOrNull,
      startTime: textOrNull,
      visitType: text,
      statusCode: textOrNull,
      providerId: textOrNull,
      providerFirstName: textOrNull,
      providerLastName: textOrNull,
      reason: textOrNull,
      facilityId: textOrNull,
      facilityName: textOrNull,
      lockedFlag: flag,
      caller: Type.Optional(textOrNull),
      message: Type.Optional(textOrNull),
      notes: Type.Optional(textOrNull),
      assignedToName: Type.Optional(textOrNull),
      answeredBy: Type.Optional(textOrNull),
      priority: Type.Optional(textOrNull),
      hasAttachment: Type.Optional(flag),
      actions: Type.Optional(Type.Array(Type.Object({ at: text, by: text, text }))),
    }),
  ),
  toSource: (row) => ({
    ehr_id: row.encounterId,
    date: isoDate(row.date),
    start_time: blankToNull(row.startTime),
    visit_type: row.visitType,
    status: blankToNull(row.statusCode),
    provider_ehr_id: blankToNull(row.providerId),
    provider_first_name: blankToNull(row.providerFirstName),
    provider_last_name: blankToNull(row.providerLastName),
    reason: blankToNull(row.reason),
    facility_name: blankToNull(row.facilityName),
    facility_id: blankToNull(row.facilityId),
    locked: toBooleanText(row.lockedFlag) as 'true' | 'false',
    cancelled: free_statuses.has(row.statusCode ?? ''),
    ...(row.actions && {
      caller: row.caller ?? null,
      message: row.message ?? null,
      actions: row.actions,
      notes: row.notes ?? null,
      assigned_to: row.assignedToName ?? null,
      answered_by: row.answeredBy ?? null,
      priority: row.priority ?? null,
      has_attachment: toBooleanText(row.hasAttachment ?? 'N') as 'true' | 'false',
    }),
  }),
});

const guarantors = defineList({
  path: '',
  row: Compile(
    Type.Object({
      guarantorId: id,
      firstName: text,
      lastName: text,
      birthDate: textOrNull,
      relationshipCode: textOrNull,
      guarantorIsPatient: flag,
    }),
  ),
  toSource: (row): Omit<LiveGuarantor, 'id'> & { ehr_id: string } => ({
    ehr_id: row.guarantorId,
    name: `${row.firstName} ${row.lastName}`.trim(),
    dob: isoDate(row.birthDate),
    relationship: toRelationship(row.relationshipCode),
    is_guarantor_patient: row.guarantorIsPatient === 'Y',
  }),
});

const insurances = defineList({
  path: '',
  row: Compile(
    Type.Object({
      insuranceId: id,
      priority: Type.Integer(),
      companyId: textOrNull,
      companyName: text,
      subscriberNumber: textOrNull,
      groupNumber: textOrNull,
      planBegins: textOrNull,
      copayment: textOrNull,
      relationshipCode: textOrNull,
      guarantorId: textOrNull,
      guarantorIsPatient: flag,
      activeFlag: flag,
    }),
  ),
  toSource: (row) => ({
    ehr_id: row.insuranceId,
    active: row.activeFlag === 'Y',
    priority: row.priority,
    insurance_ehr_id: blankToNull(row.companyId),
    insurance_name: row.companyName,
    insurance_subscriber_number: blankToNull(row.subscriberNumber),
    group_id: blankToNull(row.groupNumber),
    plan_begin_date: isoDate(row.planBegins),
    copayment: blankToNull(row.copayment),
    relationship_to_subscriber: blankToNull(row.relationshipCode),
    guarantor_id: blankToNull(row.guarantorId),
    is_guarantor_patient: row.guarantorIsPatient === 'Y',
  }),
});

const balances = Compile(Type.Object({ patientBalance: text, accountBalance: text }));
const alerts = Compile(
  Type.Object({
    billingAlert: flag,
    billingNotes: textOrNull,
    globalAlerts: Type.Array(
      Type.Object({
        name: text,
        alertType: textOrNull,
        notes: textOrNull,
        priority: textOrNull,
        expiryDate: textOrNull,
      }),
    ),
  }),
);

/** Maps Larkspur's guarantor codes to the four relationships of the interface. */
export function toRelationship(code: string | null): LiveGuarantor['relationship'] {
  if (code === '1') return 'self';
  if (code === '2' || code === '53') return 'spouse';
  return ['3', '4', '5', '6', '7', '13', '17'].includes(code ?? '') ? 'child' : 'other';
}
