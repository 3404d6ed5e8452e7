import { type Static, Type } from 'typebox';
import { VisitCode } from './records/visitTypes.ts';

const Code = Type.Object(
  {
    code: Type.String({ description: 'The EMR’s code', examples: ['ENG'] }),
    name: Type.String({ description: 'The name', examples: ['English'] }),
  },
  { schema_name: 'Code', description: 'A code of the EMR and its name' },
);

/** Codes that an EMR instance accepts for patients, and the patient fields that it requires in addition to ours. */
export const CodeLists = Type.Object({
  languages: Type.Array(Code, { description: 'Languages of patients' }),
  races: Type.Array(Code, {
    description: 'Races of patients',
    examples: [[{ code: 'D', name: 'Declined to specify' }]],
  }),
  ethnicities: Type.Array(Code, {
    description: 'Ethnicities of patients',
    examples: [[{ code: 'D', name: 'Declined to specify' }]],
  }),
  required_patient_fields: Type.Array(Type.String(), {
    description: 'Fields that the EMR requires for a new patient, in addition to ours',
    examples: [['phone']],
  }),
});
export type CodeLists = Static<typeof CodeLists>;

/** The length of an appointment if neither the visit type nor the practice gives one. */
export const standard_minutes = 30;

export const Settings = Type.Object(
  {
    access_token_reference_id: Type.String(),
    emr_name: Type.String(),
    timezone: Type.String(),
    default_appointment_minutes: Type.Integer({
      description: 'Appointment length if neither the request nor the visit type specifies one',
      examples: [30],
    }),
    capabilities: Type.Array(Type.String(), {
      description:
        'Operations that the EMR supports for this account, named as in `GET /link/emrs`, and fields that not every server of the EMR supports (`uploadDocument.is_high_priority`)',
      examples: [['listPatients', 'createPatient']],
    }),
    visit_types: Type.Array(VisitCode, { description: 'Types of visits' }),
    visit_statuses: Type.Array(VisitCode, { description: 'Statuses of visits' }),
    ...CodeLists.properties,
    required_patient_fields: Type.Array(Type.String(), {
      description: 'Fields that POST /v1/patients requires for this EMR',
      examples: [['first_name', 'last_name', 'dob', 'sex', 'phone']],
    }),
  },
  { schema_name: 'Settings', description: 'The settings of the EMR instance' },
);
