import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { VisitCodeSource } from '../../model/records/visitTypes.ts';
import type { CodeLists } from '../../model/settings.ts';
import { bodyOf } from './call.ts';
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
  const lists = bodyOf(await request({ method: 'GET', path: '/api/code-lists', schema: code_lists }));
  const toCodes = (entries: typeof lists.languages) => entries.map(({ code, name }) => ({ code, name }));
  return {
    languages: toCodes(lists.languages),
    races: toCodes(lists.races),
    ethnicities: toCodes(lists.ethnicities),
    required_patient_fields: lists.requiredPatientFields.map(toFieldName),
  };
}

/** The interface name of a Larkspur patient field. Names not listed differ only in case style. */
function toFieldName(name: string): string {
  return irregular_names.get(name) ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const irregular_names = new Map([
  ['birthDate', 'dob'],
  ['sexCode', 'sex'],
  ['homePhone', 'phone'],
  ['address', 'address_street'],
  ['selfPayFlag', 'self_pay'],
  ['releaseOfInfoFlag', 'release_of_info'],
  ['rxConsentFlag', 'rx_history_consent'],
  ['referringId', 'referring_provider_id'],
  ['referringFirstName', 'referring_provider_first_name'],
  ['referringLastName', 'referring_provider_last_name'],
  ['renderingProviderId', 'referred_to_provider_id'],
  ['emergencyContact', 'emergency_contact_first_name'],
  ['responsiblePartyCode', 'responsible_party'],
  ['responsibleParty', 'responsible_party_first_name'],
  ['insurances', 'insurance_name'],
  ['pharmacyIds', 'pharmacy_id'],
]);
