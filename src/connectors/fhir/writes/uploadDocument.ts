import type * as fhir from 'fhir/r4.js';
import { EmrFailure, type EmrWrite, type Operations } from '../../connector.ts';
import type { Emr } from '../references.ts';
import { afterCreate, findOrCreate, idOf, rejectUnsupported } from './steps.ts';

type Write = Operations['uploadDocument'];
type Input = Write extends EmrWrite<infer In, infer _Out> ? In : never;

/**
 * The file stands inside the record that files it, so that both are there or neither. Whoever is to look at it gets a
 * task, which is how FHIR hands work to people.
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
      const document = await storeDocument(emr, input, marker);
      const id = idOf(document);
      if (task_wanted) {
        const stands = 'The document was stored, but nobody was told of it.';
        await afterCreate(stands, () => findOrCreate(client, taskFor(input, id), `${marker}-task`));
      }
      return { ehr_id: id };
    },
    ...(client.canFind('DocumentReference') && {
      find: async (marker, input) => {
        const found = await client.findByMarker<fhir.DocumentReference>('DocumentReference', marker);
        if (!found) return undefined;
        const task_wanted = input.assigned_to_ehr_id !== null || input.high_priority;
        // Not whole yet: `send` goes on with what is missing.
        if (task_wanted && !(await client.findByMarker<fhir.Task>('Task', `${marker}-task`))) return undefined;
        return { ehr_id: idOf(found) };
      },
    }),
  };
}

/**
 * A server that does not take files inside a record has a place for them beside it. A file whose record never came to
 * be is in no chart, and is not looked for: FHIR gives it no identifier to be found by.
 */
async function storeDocument(emr: Emr, input: Input, marker: string): Promise<fhir.DocumentReference> {
  const { client } = emr;
  const data = input.content.toString('base64');
  try {
    return (await findOrCreate(client, documentFrom(input, { data }), marker)).resource;
  } catch (error) {
    const beside = client.capabilities.interactions('Binary').has('create');
    if (!(error instanceof EmrFailure && error.kind === 'refused' && beside)) throw error;
    const binary: fhir.Binary = {
      resourceType: 'Binary',
      contentType: input.type,
      securityContext: { reference: `Patient/${input.patient_ehr_id}` },
      data,
    };
    const stored = await client.create(binary, `${marker}-content`).catch((failure: unknown) => {
      // As long as nothing refers to it nothing has happened to the chart: the next try may send it anew.
      if (failure instanceof EmrFailure && failure.kind === 'unknown_outcome') {
        throw new EmrFailure('unavailable', failure.message, { cause: failure });
      }
      // The server takes files in neither way: what it said of the first one is the reason.
      throw failure instanceof EmrFailure && failure.kind === 'refused' ? error : failure;
    });
    return (await findOrCreate(client, documentFrom(input, { url: `Binary/${idOf(stored)}` }), marker)).resource;
  }
}

function documentFrom(input: Input, content: { data: string } | { url: string }): fhir.DocumentReference {
  return {
    resourceType: 'DocumentReference',
    status: 'current',
    docStatus: input.reviewed ? 'final' : 'preliminary',
    // The folder, as the EMR shows documents by their category.
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

function taskFor(input: Input, document_id: string): fhir.Task {
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
