import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { LiveAlerts } from '../../model/liveChart.ts';
import type { EmrDocument } from '../operations/documents.ts';
import { collect } from '../operations/operation.ts';
import type { Operations } from '../operations/operations.ts';
import type { EmrMedication } from '../operations/telephoneEncounters.ts';
import { path, requireBody } from './call.ts';
import { defineList, readPages } from './lists.ts';
import { defineWrite, type LarkspurOperation, reading, toWritten } from './operation.ts';
import type { SendRequest } from './session.ts';
import { blankToNull, flag, id, isoDate, text, textOrNull, toFlag } from './values.ts';

async function listMedications(request: SendRequest, patient_ehr_id: string): Promise<EmrMedication[]> {
  const url = path`/api/patients/${patient_ehr_id}/medications`;
  const { rows } = requireBody(await request({ method: 'GET', path: url, schema: medications }));
  return rows.map((row) => ({
    ehr_id: row.medicationId,
    name: row.name,
    strength: blankToNull(row.strength),
    frequency: blankToNull(row.frequency),
    start_date: isoDate(row.startDate),
    refills: row.refills === null ? null : String(row.refills),
    notes: blankToNull(row.notes),
    active: row.activeFlag === 'Y',
  }));
}

const medications = Compile(
  Type.Object({
    rows: Type.Array(
      Type.Object({
        medicationId: id,
        name: text,
        strength: textOrNull,
        frequency: textOrNull,
        startDate: textOrNull,
        refills: Type.Union([Type.Integer(), textOrNull]),
        notes: textOrNull,
        activeFlag: flag,
      }),
    ),
  }),
);

async function getBalances(request: SendRequest, patient_ehr_id: string) {
  const url = path`/api/patients/${patient_ehr_id}/balances`;
  const { patientBalance, accountBalance } = requireBody(await request({ method: 'GET', path: url, schema: balances }));
  return { patient_balance: Number(patientBalance), account_balance: Number(accountBalance) };
}

async function getAlerts(request: SendRequest, patient_ehr_id: string): Promise<LiveAlerts> {
  const url = path`/api/patients/${patient_ehr_id}/alerts`;
  const chart_alerts = requireBody(await request({ method: 'GET', path: url, schema: alerts }));
  return {
    billing_alert: chart_alerts.billingAlert === 'Y',
    billing_notes: blankToNull(chart_alerts.billingNotes),
    global_alerts: chart_alerts.globalAlerts.map((each) => ({
      name: each.name,
      alert_type: blankToNull(each.alertType),
      notes: blankToNull(each.notes),
      priority: blankToNull(each.priority),
      expiry_date: isoDate(each.expiryDate),
    })),
  };
}

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

const uploadDocument = defineWrite<Operations['uploadDocument']>(
  'upload_document',
  (input) => ({
    path: path`/api/patients/${input.patient_ehr_id}/documents`,
    body: {
      folderPath: input.folder,
      fileName: `document.${{ 'application/pdf': 'pdf', 'image/jpeg': 'jpg', 'image/png': 'png' }[input.type]}`,
      contentType: input.type,
      contentBase64: input.content.toString('base64'),
      assignedTo: input.assigned_to_ehr_id,
      reviewedFlag: toFlag(input.reviewed),
      priority: input.high_priority ? 'H' : 'N',
      notes: input.notes,
      templateName: input.template_name,
    },
  }),
  toWritten,
);

const documents = defineList({
  path: '/api/documents',
  row: Compile(
    Type.Object({
      documentId: id,
      patientId: id,
      folderPath: textOrNull,
      fileName: textOrNull,
      contentType: textOrNull,
      createdAt: Type.String({ format: 'date-time' }),
      externalRef: textOrNull,
    }),
  ),
  toSource: (row): EmrDocument => ({
    ehr_id: row.documentId,
    patient_ehr_id: row.patientId,
    folder: blankToNull(row.folderPath),
    file_name: blankToNull(row.fileName),
    content_type: blankToNull(row.contentType),
    added_at: row.createdAt,
    markers: row.externalRef ? [row.externalRef] : [],
  }),
});

async function listAddedDocuments(request: SendRequest, since: string): Promise<EmrDocument[]> {
  return collect(readPages(request, documents, { addedSince: since }));
}

export const chart_operations: readonly LarkspurOperation[] = [
  { operation: 'listMedications', open: reading(listMedications) },
  { operation: 'getBalances', open: reading(getBalances) },
  { operation: 'getAlerts', open: reading(getAlerts) },
  { operation: 'uploadDocument', open: uploadDocument },
  { operation: 'listAddedDocuments', open: reading(listAddedDocuments) },
];
