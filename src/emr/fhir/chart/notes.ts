import type * as fhir from 'fhir/r4.js';
import { EmrFailure } from '../../emrFailure.ts';
import type { InputOf } from '../../operations/operation.ts';
import type { Operations } from '../../operations/operations.ts';
import type { FhirOperation } from '../operation.ts';
import { type Emr, readActors, refIds } from '../references.ts';
import { can, reads, stores } from '../transport/capabilities.ts';
import { findOrCreate, requireId, requireRecords } from '../writeSteps.ts';

/** A note on a visit is a document of it, as US Core stores clinical notes. */
function addVisitNote({ client }: Emr): Operations['addVisitNote'] {
  return {
    send: async ({ appointment_ehr_id, text }, marker) => {
      const visit = await client.read<fhir.Appointment>('Appointment', appointment_ehr_id);
      if (!visit || visit.status === 'entered-in-error') {
        throw new EmrFailure('not_found', `The EMR has no appointment with ID '${appointment_ehr_id}'.`);
      }
      const [patient_ehr_id] = refIds(readActors(visit), 'Patient');
      if (patient_ehr_id === undefined) throw new EmrFailure('refused', 'The appointment has no patient.');
      await requireRecords(client, patient_ehr_id);
      const document = toDocument({ appointment_ehr_id, patient_ehr_id, text });
      const { resource } = await findOrCreate(client, document, marker);
      return { ehr_id: requireId(resource) };
    },
    ...(client.canFind('DocumentReference') && {
      find: async (marker) => {
        const created = await client.findCreated<fhir.DocumentReference>('DocumentReference', marker);
        return created && { ehr_id: requireId(created) };
      },
    }),
  };
}

function addPatientNote({ client }: Emr): Operations['addPatientNote'] {
  return {
    send: async (input, marker) => {
      await requireRecords(client, input.patient_ehr_id, { location: input.location_ehr_id });
      const { resource } = await findOrCreate(client, toCommunication(input), marker);
      return { ehr_id: requireId(resource) };
    },
    ...(client.canFind('Communication') && {
      find: async (marker) => {
        const created = await client.findCreated<fhir.Communication>('Communication', marker);
        return created && { ehr_id: requireId(created) };
      },
    }),
  };
}

const progress_note = { system: 'http://loinc.org', code: '11506-3', display: 'Progress note' };
const clinical_note = {
  system: 'http://hl7.org/fhir/us/core/CodeSystem/us-core-documentreference-category',
  code: 'clinical-note',
  display: 'Clinical Note',
};

function toDocument(note: {
  appointment_ehr_id: string;
  patient_ehr_id: string;
  text: string;
}): fhir.DocumentReference {
  const date = new Date().toISOString();
  const data = Buffer.from(note.text, 'utf8').toString('base64');
  return {
    resourceType: 'DocumentReference',
    status: 'current',
    docStatus: 'final',
    type: { coding: [progress_note], text: 'Progress note' },
    category: [{ coding: [clinical_note] }],
    subject: { reference: `Patient/${note.patient_ehr_id}` },
    date,
    content: [
      { attachment: { contentType: 'text/plain; charset=utf-8', title: 'Progress note', creation: date, data } },
    ],
    context: { related: [{ reference: `Appointment/${note.appointment_ehr_id}` }] },
  };
}

function toCommunication(note: InputOf<Operations['addPatientNote']>): fhir.Communication {
  return {
    resourceType: 'Communication',
    status: 'completed',
    category: [{ text: 'Patient note' }],
    topic: { text: note.subject },
    subject: { reference: `Patient/${note.patient_ehr_id}` },
    about: [{ reference: `Location/${note.location_ehr_id}` }],
    sent: new Date().toISOString(),
    payload: [{ contentString: note.text }],
  };
}

export const note_operations: readonly FhirOperation[] = [
  {
    operation: 'addVisitNote',
    requires: [can('DocumentReference', 'create'), reads('Appointment')],
    open: addVisitNote,
  },
  { operation: 'addPatientNote', requires: [stores('Communication')], open: addPatientNote },
];
