import { type Static, Type } from 'typebox';
import { VisitCode } from './records/visitTypes.ts';

const Code = Type.Object({ code: Type.String({ examples: ['ENG'] }), name: Type.String({ examples: ['English'] }) });

/** What an EMR instance accepts for a patient, and which fields of a patient it asks for beyond ours. */
export const CodeLists = Type.Object({
  languages: Type.Array(Code),
  races: Type.Array(Code, { examples: [[{ code: 'D', name: 'Declined to specify' }]] }),
  ethnicities: Type.Array(Code, { examples: [[{ code: 'D', name: 'Declined to specify' }]] }),
  required_patient_fields: Type.Array(Type.String(), { examples: [['phone']] }),
});
export type CodeLists = Static<typeof CodeLists>;

export const Settings = Type.Object({
  access_token_reference_id: Type.String(),
  emr_name: Type.String(),
  timezone: Type.String(),
  /** Operations, as `GET /link/emrs` names them. */
  capabilities: Type.Array(Type.String(), {
    description: 'What can be asked of the EMR through this account, as found out when it was linked',
    examples: [['listPatients', 'createPatient']],
  }),
  visit_types: Type.Array(VisitCode),
  visit_statuses: Type.Array(VisitCode),
  ...CodeLists.properties,
});
