import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { VisitCodeSource } from '../../model/records/visitTypes.ts';
import type { CodeLists } from '../../model/settings.ts';
import { requireBody } from './call.ts';
import { toFieldName } from './fieldNames.ts';
import { defineList } from './lists.ts';
import type { SendRequest } from './session.ts';
import { id, text } from './values.ts';

export const visitTypes = defineList({
  path: '/api/visit-types',
  row: Compile(Type.Object({ code: id, description: text, defaultMinutes: Type.Integer() })),
  toSource: ({ code, description, defaultMinutes }): VisitCodeSource => ({
    ehr_id: code,
    code,
    description,
    minutes: defaultMinutes,
  }),
});

export const visitStatuses = defineList({
  path: '/api/visit-statuses',
  row: Compile(Type.Object({ code: id, description: text })),
  toSource: ({ code, description }): VisitCodeSource => ({ ehr_id: code, code, description, minutes: null }),
});

const codes = Type.Array(Type.Object({ code: text, name: text }));
const code_lists = Compile(
  Type.Object({ languages: codes, races: codes, ethnicities: codes, requiredPatientFields: Type.Array(text) }),
);

export async function getCodeLists(request: SendRequest): Promise<CodeLists> {
  const lists = requireBody(await request({ method: 'GET', path: '/api/code-lists', schema: code_lists }));
  const toCodes = (entries: typeof lists.languages) => entries.map(({ code, name }) => ({ code, name }));
  return {
    languages: toCodes(lists.languages),
    races: toCodes(lists.races),
    ethnicities: toCodes(lists.ethnicities),
    required_patient_fields: lists.requiredPatientFields.map(toFieldName),
  };
}
