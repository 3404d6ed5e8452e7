import type * as fhir from 'fhir/r4.js';
import { EmrFailure, type EmrWrite, type Operations } from '../../connector.ts';
import type { Emr } from '../references.ts';
import { requireRecords } from './requireRecords.ts';
import { afterCreate, findOrCreate, idOf, rejectUnsupported } from './steps.ts';

type Write = Operations['uploadDocument'];
type Input = Write extends EmrWrite<infer In, infer _Out> ? In : never;

/**
 * The file is embedded in the DocumentReference, so that both are stored or neither. A reviewer gets a Task, FHIR's way
 * of assigning work.
 */
export function uploadDocument(emr: Emr): Write {
  const { client } = emr;
  return {
    send: async (input, marker) => {
      rejectUnsupported({ template_name: input.template_name });
      const task_wanted = input.assigned_to_ehr_id !== null || input.high_priority;
      if (task_wanted && !client.capabilities.interactions('Task').has('create')) {
        rejectUnsupported({ emr_assigned_to_id: input.assigned_to_ehr_id, is_high_priority: input.high_priority });
      }
      await requireRecords(client, input.patient_ehr_id, { 'staff member': input.assigned_to_ehr_id });
      const document = await storeDocument(emr, input, marker);
      const id = idOf(document);
      if (task_wanted) {
        const message = 'The document was stored, but the review task was not created.';
        await afterCreate(message, () => findOrCreate(client, toTask(input, id), `${marker}-task`));
      }
      return { ehr_id: id };
    },
    ...(client.canFind('DocumentReference') && {
      find: async (marker, input) => {
        const found = await client.findByMarker<fhir.DocumentReference>('DocumentReference', marker);
        if (!found) return undefined;
        const task_wanted = input.assigned_to_ehr_id !== null || input.high_priority;
        // Incomplete: `send` creates what is missing.
        if (task_wanted && !(await client.findByMarker<fhir.Task>('Task', `${marker}-task`))) return undefined;
        return { ehr_id: idOf(found) };
      },
    }),
  };
}

/**
 * Falls back to a separate Binary if the server rejects embedded files. A Binary without a DocumentReference is in no
 * chart and cannot be searched, because FHIR gives it no identifier.
 */
async function storeDocument(emr: Emr, input: Input, marker: string): Promise<fhir.DocumentReference> {
  const { client } = emr;
  const data = input.content.toString('base64');
  try {
    return (await findOrCreate(client, toDocument(input, { data }), marker)).resource;
  } catch (error) {
    const can_store_binary = client.capabilities.interactions('Binary').has('create');
    if (!(error instanceof EmrFailure && error.kind === 'refused' && can_store_binary)) throw error;
    const binary: fhir.Binary = {
      resourceType: 'Binary',
      contentType: input.type,
      securityContext: { reference: `Patient/${input.patient_ehr_id}` },
      data,
    };
    const stored = await client.create(binary, `${marker}-content`).catch((failure: unknown) => {
      // Nothing refers to the file yet, so the chart is unchanged and the next attempt may send it again.
      if (failure instanceof EmrFailure && failure.kind === 'unknown_outcome') {
        throw new EmrFailure('unavailable', failure.message, { cause: failure });
      }
      // The server rejects both forms. Its response to the first is the reason.
      throw failure instanceof EmrFailure && failure.kind === 'refused' ? error : failure;
    });
    return (await findOrCreate(client, toDocument(input, { url: `Binary/${idOf(stored)}` }), marker)).resource;
  }
}

function toDocument(input: Input, content: { data: string } | { url: string }): fhir.DocumentReference {
  return {
    resourceType: 'DocumentReference',
    status: 'current',
    docStatus: input.reviewed ? 'final' : 'preliminary',
    // EMRs show documents by category, so the folder goes there.
    category: [{ text: input.folder }],
    subject: { reference: `Patient/${input.patient_ehr_id}` },
    date: new Date().toISOString(),
    ...(input.notes && { description: input.notes }),
    content: [{ attachment: { contentType: input.type, title: titles[input.type], ...content } }],
  };
}

const titles = {
  'application/pdf': 'document.pdf',
  'image/jpeg': 'document.jpg',
  'image/png': 'document.png',
} as const;

function toTask(input: Input, document_id: string): fhir.Task {
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
