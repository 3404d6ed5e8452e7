import { type Static, Type } from 'typebox';
import { VisitCode } from './records/visitTypes.ts';

const Code = Type.Object({ code: Type.String({ examples: ['ENG'] }), name: Type.String({ examples: ['English'] }) });

/** Codes that an EMR instance accepts for patients, and the patient fields that it requires in addition to ours. */
export const CodeLists = Type.Object({
  languages: Type.Array(Code),
  races: Type.Array(Code, { examples: [[{ code: 'D', name: 'Declined to specify' }]] }),
  ethnicities: Type.Array(Code, { examples: [[{ code: 'D', name: 'Declined to specify' }]] }),
  required_patient_fields: Type.Array(Type.String(), { examples: [['phone']] }),
});
export type CodeLists = Static<typeof CodeLists>;

/** The length of an appointment if neither the visit type nor the practice gives one. */
export const standard_minutes = 30;

export const Settings = Type.Object({
  access_token_reference_id: Type.String(),
  emr_name: Type.String(),
  timezone: Type.String(),
  default_appointment_minutes: Type.Integer({
    description: 'Length of appointments whose request and visit type give none',
    examples: [30],
  }),
  capabilities: Type.Array(Type.String(), {
    description:
      'Operations that the EMR supports for this account, named as in `GET /link/emrs`, and fields that not every server of the EMR supports (`uploadDocument.is_high_priority`)',
    examples: [['listPatients', 'createPatient']],
  }),
  visit_types: Type.Array(VisitCode),
  visit_statuses: Type.Array(VisitCode),
  ...CodeLists.properties,
});
