import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { LiveAlerts, LiveEncounter, LiveGuarantor, LiveInsurance } from '../../model/liveChart.ts';
import type { PatientSource } from '../../model/records/patients.ts';
import type { PatientSearch } from '../connector.ts';
import { answerOf, path } from './call.ts';
import { type List, list, pages } from './lists.ts';
import { patients } from './patients.ts';
import type { Ask } from './session.ts';
import { blankToNull, flag, id, isoDate, text, textOrNull } from './values.ts';

/** A patient's part of the chart, read to its end. */
async function gather<Row, Source extends { ehr_id: string }>(
  ask: Ask,
  declared: List<Row, Source>,
  search: Record<string, string> = {},
): Promise<Source[]> {
  const all: Source[] = [];
  for await (const page of pages(ask, declared, search)) all.push(...page);
  return all;
}

export function searchPatients(ask: Ask, search: PatientSearch): Promise<PatientSource[]> {
  const asked = {
    mrn: search.mrn,
    firstName: search.first_name,
    lastName: search.last_name,
    phone: search.phone,
    birthDate: search.dob && `${search.dob.slice(5, 7)}/${search.dob.slice(8)}/${search.dob.slice(0, 4)}`,
  };
  const given = Object.entries(asked).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return gather(ask, patients, Object.fromEntries(given));
}

export async function listEncounters(ask: Ask, patient_ehr_id: string): Promise<LiveEncounter[]> {
  const rows = await gather(ask, { ...encounters, path: path`/api/patients/${patient_ehr_id}/encounters` });
  return rows.map(({ ehr_id: id, ...shown }) => ({ id, ...shown }));
}

export async function listGuarantors(ask: Ask, patient_ehr_id: string): Promise<LiveGuarantor[]> {
  const rows = await gather(ask, { ...guarantors, path: path`/api/patients/${patient_ehr_id}/guarantors` });
  return rows.map(({ ehr_id: id, ...shown }) => ({ id, ...shown }));
}

export async function listPatientInsurances(ask: Ask, patient_ehr_id: string): Promise<LiveInsurance[]> {
  const rows = await gather(ask, { ...insurances, path: path`/api/patients/${patient_ehr_id}/insurances` });
  return rows
    .filter((row) => row.active)
    .map(({ ehr_id, active: _active, ...shown }) => ({ emr_insurance_id: ehr_id, ...shown }));
}

export async function getBalances(ask: Ask, patient_ehr_id: string) {
  const asked = path`/api/patients/${patient_ehr_id}/balances`;
  const { patientBalance, accountBalance } = answerOf(await ask({ method: 'GET', path: asked, answer: balances }));
  return { patient_balance: Number(patientBalance), account_balance: Number(accountBalance) };
}

export async function getAlerts(ask: Ask, patient_ehr_id: string): Promise<LiveAlerts> {
  const asked = path`/api/patients/${patient_ehr_id}/alerts`;
  const found = answerOf(await ask({ method: 'GET', path: asked, answer: alerts }));
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

const yes_no = (value: 'Y' | 'N') => (value === 'Y' ? 'true' : 'false');

const encounters = list({
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
  source: (row) => ({
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
    locked: yes_no(row.lockedFlag) as 'true' | 'false',
    ...(row.actions && {
      caller: row.caller ?? null,
      message: row.message ?? null,
      actions: row.actions,
      notes: row.notes ?? null,
      assigned_to: row.assignedToName ?? null,
      answered_by: row.answeredBy ?? null,
      priority: row.priority ?? null,
      has_attachment: yes_no(row.hasAttachment ?? 'N') as 'true' | 'false',
    }),
  }),
});

const guarantors = list({
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
  source: (row): Omit<LiveGuarantor, 'id'> & { ehr_id: string } => ({
    ehr_id: row.guarantorId,
    name: `${row.firstName} ${row.lastName}`.trim(),
    dob: isoDate(row.birthDate),
    relationship: relationshipOf(row.relationshipCode),
    is_guarantor_patient: row.guarantorIsPatient === 'Y',
  }),
});

const insurances = list({
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
  source: (row) => ({
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

/** Larkspur's codes for how a guarantor stands to the patient, as the four that the interface knows. */
function relationshipOf(code: string | null): LiveGuarantor['relationship'] {
  if (code === '1') return 'self';
  if (code === '2' || code === '53') return 'spouse';
  return ['3', '4', '5', '6', '7', '13', '17'].includes(code ?? '') ? 'child' : 'other';
}
