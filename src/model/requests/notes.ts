import { type Static, Type } from 'typebox';
import { id, refersTo, text } from '../fields.ts';

const codes_max = 50;

const NoteSections = Type.Object(
  {
    subjective: Type.Optional(text({ description: 'What the patient reports', examples: ['Cough for three days.'] })),
    objective: Type.Optional(text({ description: 'What was found', examples: ['Lungs clear.'] })),
    assessment: Type.Optional(text({ description: 'What it means', examples: ['Common cold.'] })),
    plan: Type.Optional(text({ description: 'What is to be done', examples: ['Fluids, return if it gets worse.'] })),
  },
  { additionalProperties: false, schema_name: 'NoteSections', description: 'The sections of a structured note' },
);
export type NoteSections = Static<typeof NoteSections>;

/** An ICD-10-CM code, with or without its dot. */
export const icd_10_code = text({
  pattern: '^[A-Za-z][0-9][0-9A-Za-z](\\.?[0-9A-Za-z]{1,4})?$',
  messages: { pattern: '{name} must be an ICD-10 code, such as J06.9' },
  notation: 'ICD-10',
  examples: ['J06.9'],
});

const cpt_code = text({
  pattern: '^([0-9]{4}[0-9A-Za-z]|[A-Va-v][0-9]{4})$',
  messages: { pattern: '{name} must be a CPT code, such as 99213' },
  notation: 'CPT',
  examples: ['99213'],
});

export const NoteRequest = Type.Object(
  {
    appointment_id: Type.Unsafe<string>({
      ...id,
      description: 'ID of the appointment, as POST /v1/appointments returned it',
    }),
    note: Type.Union([text({ minLength: 1 }), NoteSections], {
      messages: { anyOf: 'note must be a text, or an object with subjective, objective, assessment and plan' },
      description:
        'The note: a text with line breaks (`\\n`), or, where the EMR has structured notes, an object with at least one section',
      examples: ['Cough for three days. Lungs clear.\nFluids, return if it gets worse.'],
    }),
    icd_10_codes: Type.Optional(
      Type.Array(icd_10_code, { maxItems: codes_max, description: 'Diagnoses; only with a structured note' }),
    ),
    cpt_codes: Type.Optional(
      Type.Array(cpt_code, { maxItems: codes_max, description: 'Procedures; only with a structured note' }),
    ),
  },
  { schema_name: 'NoteCreate', description: 'A note on a visit' },
);
export type NoteRequest = Static<typeof NoteRequest>;

export const PatientNoteRequest = Type.Object(
  {
    note: text({ description: 'Text of the note', examples: ['Prefers calls in the morning.'] }),
    subject: text({ maxLength: 200, description: 'Title of the note', examples: ['Contact'] }),
    patient_mrn: text({ description: 'Medical Record Number of the patient' }),
    location_id: text({
      ...refersTo('locations.ehr_id'),
      description: "The location's EMR ID, from GET /v1/locations (ehr_id)",
    }),
  },
  { schema_name: 'PatientNoteCreate', description: 'A note in a patient’s chart that belongs to no visit' },
);
export type PatientNoteRequest = Static<typeof PatientNoteRequest>;
