import { NoteRequest, type NoteSections, PatientNoteRequest } from '../../model/requests/notes.ts';
import type { AppointmentOperations } from './appointments.ts';
import {
  activeRecord,
  type Declarations,
  type EmrWrite,
  requestFields,
  type SampleEnvironment,
  type Written,
} from './operation.ts';

export type NoteOperations = {
  addVisitNote: EmrWrite<{ appointment_ehr_id: string; text: string }, Written>;
  addStructuredNote: EmrWrite<NewStructuredNote, Written>;
  addPatientNote: EmrWrite<{ patient_ehr_id: string; location_ehr_id: string; subject: string; text: string }, Written>;
};

export type NewStructuredNote = {
  appointment_ehr_id: string;
  sections: NoteSections;
  icd_10_codes: readonly string[];
  cpt_codes: readonly string[];
};

export const note_operations = {
  addVisitNote: {
    consent: 'notes',
    effect: { action: 'create', resource: 'note' },
    // The codes belong to structured notes.
    fields: requestFields(NoteRequest, {}, ['icd_10_codes', 'cpt_codes']),
    sample: {
      input: async (env) => ({
        appointment_ehr_id: await syntheticVisit(env),
        text: `Synthetic note ${env.uniqueTag()}\nSecond line`,
      }),
    },
  },
  addStructuredNote: {
    consent: 'notes',
    effect: { action: 'create', resource: 'note' },
    sample: {
      input: async (env) => ({
        appointment_ehr_id: await syntheticVisit(env),
        sections: { subjective: `Synthetic note ${env.uniqueTag()}`, plan: 'None' },
        icd_10_codes: ['J06.9'],
        cpt_codes: ['99213'],
      }),
    },
  },
  addPatientNote: {
    consent: 'notes',
    effect: { action: 'create', resource: 'patient_note' },
    fields: requestFields(PatientNoteRequest, {}),
    sample: {
      input: async (env) => ({
        patient_ehr_id: (await env.testPatient()).ehr_id,
        location_ehr_id: (await activeRecord(env, 'listLocations')).ehr_id,
        subject: 'Synthetic note',
        text: `Synthetic note ${env.uniqueTag()}`,
      }),
    },
  },
} satisfies Declarations<NoteOperations>;

/** A visit of the synthetic patient. */
function syntheticVisit(env: SampleEnvironment<NoteOperations>): Promise<string> {
  // The environment is the same for all groups of operations.
  return (env as unknown as SampleEnvironment<AppointmentOperations>).written('createAppointment');
}
