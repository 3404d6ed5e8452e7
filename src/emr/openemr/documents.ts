import type * as fhir from 'fhir/r4.js';
import { fold } from '../../model/fold.ts';
import { EmrFailure } from '../emrFailure.ts';
import { document_operations as fhir_operations, toTitle } from '../fhir/chart/documents.ts';
import { searchChart } from '../fhir/references.ts';
import { unreadable_response } from '../fhir/transport/call.ts';
import { searches } from '../fhir/transport/capabilities.ts';
import { list, text } from '../fhir/values.ts';
import { rejectUnsupported } from '../fhir/writeSteps.ts';
import type { EmrDocument, NewDocument } from '../operations/documents.ts';
import type { Operations } from '../operations/operations.ts';
import { readTextMarker } from '../textMarkers.ts';
import { type OpenEmr, type OpenEmrOperation, readPatient, requirePatient, scopes } from './operation.ts';

/**
 * OpenEMR answers every upload with `true`, also for patients and categories that do not exist, and returns no id. The
 * name of the file has our marker; FHIR shows it.
 */
function uploadDocument(emr: OpenEmr): Operations['uploadDocument'] {
  return {
    send: async (input, marker) => {
      rejectUnsupported({
        emr_assigned_to_id: input.assigned_to_ehr_id,
        is_reviewed: input.reviewed,
        is_high_priority: input.high_priority,
        notes: input.notes,
        template_name: input.template_name,
      });
      const patient = await requirePatient(emr, input.patient_ehr_id);
      const documents = await readDocuments(emr, input.patient_ehr_id);
      const earlier = documents.find((each) => hasMarker(each, marker));
      if (earlier) return settle(earlier, input);
      requireCategory(documents, input.folder);
      const confirmed = await emr.rest.write({
        method: 'POST',
        path: ['patient', patient, 'document'],
        scope: 'document.write',
        query: { path: toPath(input.folder) },
        file: { name: toFileName(input, marker), type: input.type, content: input.content },
      });
      if (confirmed === false) {
        const message = 'OpenEMR did not accept the file. Its administrator decides which types of files it accepts.';
        throw new EmrFailure('refused', message, { code: 'emr_validation' });
      }
      if (confirmed !== true) throw new EmrFailure('unknown_outcome', unreadable_response);
      const stored = await findDocument(emr, input.patient_ehr_id, marker).catch((error: unknown) => {
        if (!(error instanceof EmrFailure)) throw error;
        throw new EmrFailure('unknown_outcome', error.message, { cause: error });
      });
      if (stored) return settle(stored, input);
      const message = 'OpenEMR accepted the document but does not return it.';
      throw new EmrFailure('unknown_outcome', message, { accepted: true });
    },
    find: async (marker, input) => {
      if (!(await readPatient(emr, input.patient_ehr_id))) return undefined;
      const stored = await findDocument(emr, input.patient_ehr_id, marker);
      return stored?.id === undefined ? undefined : { ehr_id: stored.id };
    },
  };
}

/** Checks where OpenEMR put the file: a category that was deleted or renamed is silently left out. */
function settle(document: fhir.DocumentReference, { folder }: NewDocument): { ehr_id: string } {
  const { id = '' } = document;
  const category = readCategory(document);
  if (category !== null && fold(category) === fold(lastPart(folder))) return { ehr_id: id };
  const message = 'The document was stored in the chart, but OpenEMR has no category with this name.';
  throw new EmrFailure('refused', message, { code: 'unknown_value' });
}

/**
 * OpenEMR's API does not list its categories. Those of a new installation are known, and those that documents of the
 * patient are in.
 */
function requireCategory(documents: readonly fhir.DocumentReference[], folder: string): void {
  const known = [...default_categories, ...documents.flatMap((each) => readCategory(each) ?? [])];
  if (known.some((category) => fold(category) === fold(lastPart(folder)))) return;
  const message = `OpenEMR has no document category with this name, as far as its API shows. Use one of ${default_categories.join(', ')}, or one that the patient already has documents in.`;
  throw new EmrFailure('refused', message, { code: 'unknown_value' });
}

const default_categories = [
  'Lab Report',
  'Medical Record',
  'Patient Information',
  'Patient ID card',
  'Patient Photograph',
  'Advance Directive',
  'CCR',
  'CCD',
  'CCDA',
];

function lastPart(folder: string): string {
  return folder.split('/').at(-1) ?? '';
}

/** `/Lab_Report`: with a blank in it, OpenEMR would find no category. */
function toPath(folder: string): string {
  return `/${folder.trim().replace(/\s+/g, '_')}`;
}

/** `referral-<marker>.pdf` */
function toFileName(input: NewDocument, marker: string): string {
  const [, name = '', extension = ''] = /^(.*)(\.\w+)$/.exec(toTitle(input)) ?? [];
  return `${[...name].slice(0, 100).join('')}-${marker}${extension}`;
}

function readDocuments({ fhir: { client } }: OpenEmr, patient_ehr_id: string): Promise<fhir.DocumentReference[]> {
  return searchChart<fhir.DocumentReference>(client, 'DocumentReference', patient_ehr_id, ({ subject }) => [subject]);
}

async function findDocument(
  emr: OpenEmr,
  patient_ehr_id: string,
  marker: string,
): Promise<fhir.DocumentReference | undefined> {
  return (await readDocuments(emr, patient_ehr_id)).find((each) => hasMarker(each, marker));
}

function hasMarker(document: fhir.DocumentReference, marker: string): boolean {
  return readTitle(document)?.includes(marker) ?? false;
}

function readTitle({ content }: fhir.DocumentReference): string | null {
  return text(list(content)[0]?.attachment?.title);
}

function readCategory({ category }: fhir.DocumentReference): string | null {
  const [first] = list(category);
  return text(first?.text) ?? text(list(first?.coding)[0]?.display);
}

/** FHIR's list, with the markers that are part of the file names. */
function listAddedDocuments(emr: OpenEmr): Operations['listAddedDocuments'] {
  const listed = fhir_operations.find((each) => each.operation === 'listAddedDocuments');
  if (listed?.operation !== 'listAddedDocuments') throw new Error('FHIR has no list of added documents.');
  const listAdded = listed.open(emr.fhir);
  return async (since) => (await listAdded(since)).map(splitFileName);
}

function splitFileName(document: EmrDocument): EmrDocument {
  const marker = readTextMarker(document.file_name);
  if (marker === undefined) return { ...document, markers: [] };
  return { ...document, file_name: document.file_name?.replace(`-${marker}`, '') ?? null, markers: [marker] };
}

export const document_operations: readonly OpenEmrOperation[] = [
  {
    operation: 'uploadDocument',
    requires: [scopes('document.write', 'patient.read'), searches('DocumentReference', 'patient')],
    unsupported_fields: ['emr_assigned_to_id', 'is_reviewed', 'is_high_priority', 'notes', 'template_name'],
    open: uploadDocument,
  },
  {
    operation: 'listAddedDocuments',
    requires: [searches('DocumentReference', '_lastUpdated')],
    open: listAddedDocuments,
  },
];
