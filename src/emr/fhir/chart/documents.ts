import type * as fhir from 'fhir/r4.js';
import { formatInstant } from '../../../platform/time/days.ts';
import type { Grant } from '../../connector.ts';
import { EmrFailure } from '../../emrFailure.ts';
import type { EmrDocument } from '../../operations/documents.ts';
import type { InputOf } from '../../operations/operation.ts';
import type { Operations } from '../../operations/operations.ts';
import { type FhirOperation, reading } from '../operation.ts';
import { type Emr, refId } from '../references.ts';
import { too_large_to_send } from '../transport/call.ts';
import { can, type ServerFacts, searches, toCapabilities } from '../transport/capabilities.ts';
import type { FhirClient } from '../transport/client.ts';
import { readMarkers } from '../transport/creates.ts';
import { code_systems, list, text } from '../values.ts';
import { afterCreate, findMarked, findOrCreate, rejectUnsupported, requireId, requireRecords } from '../writeSteps.ts';

/** Stores the file and its DocumentReference. A reviewer gets a Task, FHIR's way of assigning work. */
export function uploadDocument({ client }: Emr): Operations['uploadDocument'] {
  return {
    send: async (input, marker) => {
      rejectUnsupported({ template_name: input.template_name });
      if (needsTask(input) && !client.capabilities.interactions('Task').has('create')) {
        rejectUnsupported({ emr_assigned_to_id: input.assigned_to_ehr_id, is_high_priority: input.high_priority });
      }
      await requireRecords(client, input.patient_ehr_id, { 'staff member': input.assigned_to_ehr_id });
      const document = await storeDocument(client, input, marker);
      const id = requireId(document);
      if (needsTask(input)) {
        const message = 'The document was stored, but the review task was not created.';
        await afterCreate(message, () => findOrCreate(client, toReviewTask(input, id), taskMarker(marker)));
      }
      return { ehr_id: id };
    },
    ...(client.canFind('DocumentReference') && {
      find: async (marker, input) => {
        const document = await client.findCreated<fhir.DocumentReference>('DocumentReference', marker);
        if (!document) return undefined;
        // Incomplete: `send` creates what is missing.
        if (needsTask(input) && !(await client.findByMarker<fhir.Task>('Task', taskMarker(marker)))) return undefined;
        return { ehr_id: requireId(document) };
      },
    }),
  };
}

/**
 * The size of the largest file that the server may accept. One that is refused in raw form is sent in JSON. Undefined
 * until the server has refused a file in every form that it accepts.
 */
export function documentBytesMax({ server }: Grant): number | undefined {
  if (server === undefined) return undefined;
  // Written by signIn from a value of this type.
  const facts: ServerFacts = JSON.parse(server);
  const { raw_refused, raw_refused_bytes, json_refused_bytes } = facts.documents ?? {};
  const raw = toCapabilities(facts).interactions('Binary').has('create') && !raw_refused;
  const refused = [json_refused_bytes, ...(raw ? [raw_refused_bytes] : [])];
  if (!refused.every((bytes) => bytes !== undefined)) return undefined;
  return Math.max(...refused) - 1;
}

/**
 * The documents that were added since an instant. A search by time of change also returns older ones that were changed: a
 * first version is new, and of later versions those that say that they were created since.
 */
async function listAddedDocuments({ client }: Emr, since: string): Promise<EmrDocument[]> {
  const added: EmrDocument[] = [];
  const params = { _lastUpdated: `ge${since}` };
  for await (const { matches } of client.search<fhir.DocumentReference>('DocumentReference', params)) {
    for (const document of matches) {
      const patient_ehr_id = refId(document.subject, 'Patient');
      const added_at = readAddedAt(document, since);
      if (!document.id || !patient_ehr_id || !added_at || document.status !== 'current') continue;
      const attachment = list(document.content)[0]?.attachment;
      const category = list(document.category)[0];
      added.push({
        ehr_id: document.id,
        patient_ehr_id,
        folder: text(category?.text) ?? text(list(category?.coding)[0]?.display),
        file_name: text(attachment?.title),
        content_type: text(attachment?.contentType),
        added_at,
        ...(client.capabilities.keepsMarkers('DocumentReference') && { markers: readMarkers(document) }),
      });
    }
  }
  return added;
}

function readAddedAt({ meta, date }: fhir.DocumentReference, since: string): string | null {
  const changed_ms = Date.parse(meta?.lastUpdated ?? '');
  const created_ms = Date.parse(date ?? '');
  if (meta?.versionId === '1' && !Number.isNaN(changed_ms)) return formatInstant(changed_ms);
  return created_ms >= Date.parse(since) ? formatInstant(created_ms) : null;
}

type Document = InputOf<Operations['uploadDocument']>;

/** What a file and its DocumentReference are made of. `related`: a reference to the record that it belongs to. */
type StoredDocument = Pick<
  Document,
  'type' | 'content' | 'patient_ehr_id' | 'folder' | 'reviewed' | 'notes' | 'file_name'
> & { related?: string };

/**
 * A file is sent in raw form as a Binary where the server accepts that, because JSON bodies have lower limits; otherwise
 * embedded in the DocumentReference; otherwise as a Binary in JSON. What a server refuses, and in which size, is
 * remembered. A Binary without a DocumentReference is in no chart and cannot be searched.
 */
export async function storeDocument(
  client: FhirClient,
  input: StoredDocument,
  marker: string,
): Promise<fhir.DocumentReference> {
  const present = await findMarked<fhir.DocumentReference>(client, 'DocumentReference', marker);
  if (present) return present;
  const url = await storeRaw(client, input);
  if (url !== undefined) return client.create(toDocument(input, { url }), marker);
  if (isTooLarge(input.content, client.capabilities.documents.json_refused_bytes))
    throw documentTooLarge(input.content);
  const data = input.content.toString('base64');
  try {
    return await client.create(toDocument(input, { data }), marker);
  } catch (error) {
    if (isRejectedSize(error)) throw await rememberSize(client, 'json_refused_bytes', input.content);
    const can_store_binary = client.capabilities.interactions('Binary').has('create');
    if (!(error instanceof EmrFailure && error.kind === 'refused' && can_store_binary)) throw error;
    const stored = await storeAsJson(client, input, data).catch((failure: unknown) => {
      // The server rejects both forms. Its response to the first is the reason.
      throw failure instanceof EmrFailure && failure.kind === 'refused' ? error : failure;
    });
    return client.create(toDocument(input, { url: stored }), marker);
  }
}

/** The reference to the file, or undefined if the server does not accept it in raw form. */
async function storeRaw(
  client: FhirClient,
  { type, content, patient_ehr_id }: StoredDocument,
): Promise<string | undefined> {
  const { interactions, documents } = client.capabilities;
  if (!interactions('Binary').has('create') || documents.raw_refused) return undefined;
  if (isTooLarge(content, documents.raw_refused_bytes)) return undefined;
  try {
    return `Binary/${await client.createBinary({ content, type, patient_ehr_id })}`;
  } catch (error) {
    if (!(error instanceof EmrFailure && (error.kind === 'refused' || error.kind === 'not_found'))) throw error;
    if (isRejectedSize(error)) await rememberSize(client, 'raw_refused_bytes', content);
    else
      await client.learn((facts) => {
        facts.documents = { ...facts.documents, raw_refused: true };
      });
    return undefined;
  }
}

async function storeAsJson(
  client: FhirClient,
  { type, patient_ehr_id }: StoredDocument,
  data: string,
): Promise<string> {
  const securityContext = { reference: `Patient/${patient_ehr_id}` };
  const binary: fhir.Binary = { resourceType: 'Binary', contentType: type, securityContext, data };
  const stored = await client.create(binary, '').catch((failure: unknown) => {
    // Nothing refers to the file yet, so the chart is unchanged and the next attempt may send it again.
    if (failure instanceof EmrFailure && failure.kind === 'unknown_outcome') {
      throw new EmrFailure('unavailable', failure.message, { cause: failure });
    }
    throw failure;
  });
  return `Binary/${requireId(stored)}`;
}

function needsTask({ assigned_to_ehr_id, high_priority }: Document): boolean {
  return assigned_to_ehr_id !== null || high_priority;
}

function taskMarker(marker: string): string {
  return `${marker}-task`;
}

function isTooLarge(content: Buffer, refused_bytes: number | undefined): boolean {
  return refused_bytes !== undefined && content.length >= refused_bytes;
}

function isRejectedSize(error: unknown): boolean {
  return error instanceof EmrFailure && error.message === too_large_to_send;
}

async function rememberSize(
  client: FhirClient,
  key: 'raw_refused_bytes' | 'json_refused_bytes',
  content: Buffer,
): Promise<EmrFailure> {
  await client.learn((facts) => {
    facts.documents = { ...facts.documents, [key]: Math.min(facts.documents?.[key] ?? content.length, content.length) };
  });
  return documentTooLarge(content);
}

function documentTooLarge(content: Buffer): EmrFailure {
  const size = (content.length / 1_000_000).toFixed(1);
  const message = `The server does not accept a document of this size (${size} MB).`;
  return new EmrFailure('refused', message, { code: 'emr_validation' });
}

function toDocument(input: StoredDocument, content: { data: string } | { url: string }): fhir.DocumentReference {
  const date = new Date().toISOString();
  return {
    resourceType: 'DocumentReference',
    status: 'current',
    docStatus: input.reviewed ? 'final' : 'preliminary',
    // Required by US Core. The folder is all that a request says about the kind of document, and it is no code.
    type: { coding: [{ system: code_systems.null_flavor, code: 'UNK', display: 'unknown' }], text: input.folder },
    // EMRs show documents by category, so the folder goes there.
    category: [{ text: input.folder }],
    subject: { reference: `Patient/${input.patient_ehr_id}` },
    date,
    ...(input.notes && { description: input.notes }),
    content: [{ attachment: { contentType: input.type, title: toTitle(input), creation: date, ...content } }],
    ...(input.related && { context: { related: [{ reference: input.related }] } }),
  };
}

/** The name of the file. The extension follows from the content, whatever the sender called it. */
export function toTitle({ file_name, type }: Pick<StoredDocument, 'file_name' | 'type'>): string {
  const extensions = { 'application/pdf': 'pdf', 'image/jpeg': 'jpg', 'image/png': 'png' } as const;
  const name = file_name?.trim() || 'document';
  const extension = type === 'image/jpeg' ? /\.jpe?g$/i : new RegExp(`\\.${extensions[type]}$`, 'i');
  return extension.test(name) ? name : `${name}.${extensions[type]}`;
}

function toReviewTask(input: Document, document_id: string): fhir.Task {
  return {
    resourceType: 'Task',
    status: 'requested',
    intent: 'order',
    priority: input.high_priority ? 'urgent' : 'routine',
    description: 'Review the document',
    focus: { reference: `DocumentReference/${document_id}` },
    for: { reference: `Patient/${input.patient_ehr_id}` },
    authoredOn: new Date().toISOString(),
    ...(input.assigned_to_ehr_id !== null && { owner: { reference: `Practitioner/${input.assigned_to_ehr_id}` } }),
  };
}

export const document_operations: readonly FhirOperation[] = [
  {
    operation: 'uploadDocument',
    requires: [can('DocumentReference', 'create')],
    unsupported_fields: ['template_name'],
    // FHIR's way of assigning work, and of giving it a priority, is a Task.
    field_requires: { emr_assigned_to_id: [can('Task', 'create')], is_high_priority: [can('Task', 'create')] },
    open: uploadDocument,
  },
  {
    operation: 'listAddedDocuments',
    requires: [searches('DocumentReference', '_lastUpdated')],
    open: reading(listAddedDocuments),
  },
];
