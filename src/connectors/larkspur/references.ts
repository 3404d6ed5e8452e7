import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { InsuranceProviderSource } from '../../model/records/insuranceProviders.ts';
import type { ReferringProviderSource } from '../../model/records/referringProviders.ts';
import type { VisitCodeSource } from '../../model/records/visitTypes.ts';
import type { CodeLists } from '../../model/settings.ts';
import { answerOf } from './call.ts';
import { list } from './lists.ts';
import type { Ask } from './session.ts';
import { addressOneLine, blankToNull, flag, id, isoMoment, text, textOrNull } from './values.ts';

export const insuranceProviders = list({
  path: '/api/insurance-companies',
  row: Compile(
    Type.Object({
      companyId: id,
      name: text,
      payerId: textOrNull,
      carrierId: textOrNull,
      activeFlag: flag,
      address: addressOneLine,
      createdAt: textOrNull,
    }),
  ),
  source: (row): InsuranceProviderSource => ({
    ehr_id: row.companyId,
    name: row.name,
    payer_id: blankToNull(row.payerId),
    active: row.activeFlag === 'Y',
    address: blankToNull(row.address.line1),
    city: blankToNull(row.address.city),
    state: blankToNull(row.address.state),
    created_at: isoMoment(row.createdAt),
    carrier_id: blankToNull(row.carrierId),
  }),
});

export const referringProviders = list({
  path: '/api/referring-providers',
  row: Compile(
    Type.Object({
      referringId: id,
      firstName: text,
      lastName: text,
      middleInitial: textOrNull,
      speciality: textOrNull,
      phone: textOrNull,
      fax: textOrNull,
      email: textOrNull,
      npi: textOrNull,
      address: addressOneLine,
    }),
  ),
  source: (row): ReferringProviderSource => ({
    ehr_id: row.referringId,
    name: [row.firstName, blankToNull(row.middleInitial), row.lastName].filter(Boolean).join(' '),
    first_name: row.firstName,
    last_name: row.lastName,
    middle_initial: blankToNull(row.middleInitial),
    speciality: blankToNull(row.speciality),
    phone: blankToNull(row.phone),
    fax: blankToNull(row.fax),
    email: blankToNull(row.email),
    npi: blankToNull(row.npi),
    address_street: blankToNull(row.address.line1),
    address_city: blankToNull(row.address.city),
    address_state: blankToNull(row.address.state),
    address_zip: blankToNull(row.address.zip),
  }),
});

export const visitTypes = list({
  path: '/api/visit-types',
  row: Compile(Type.Object({ code: id, description: text, defaultMinutes: Type.Integer() })),
  source: ({ code, description, defaultMinutes }): VisitCodeSource => ({
    ehr_id: code,
    code,
    description,
    minutes: defaultMinutes,
  }),
});

export const visitStatuses = list({
  path: '/api/visit-statuses',
  row: Compile(Type.Object({ code: id, description: text })),
  source: ({ code, description }): VisitCodeSource => ({ ehr_id: code, code, description, minutes: null }),
});

const codes = Type.Array(Type.Object({ code: text, name: text }));
const code_lists = Compile(
  Type.Object({ languages: codes, races: codes, ethnicities: codes, requiredPatientFields: Type.Array(text) }),
);

export async function getCodeLists(ask: Ask): Promise<CodeLists> {
  const lists = answerOf(await ask({ method: 'GET', path: '/api/code-lists', answer: code_lists }));
  const plain = (of: typeof lists.languages) => of.map(({ code, name }) => ({ code, name }));
  return {
    languages: plain(lists.languages),
    races: plain(lists.races),
    ethnicities: plain(lists.ethnicities),
    required_patient_fields: lists.requiredPatientFields.map(fieldOf),
  };
}

/** Larkspur's name of a patient's field as ours; those not listed differ in spelling alone. */
function fieldOf(name: string): string {
  return other_names.get(name) ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const other_names = new Map([
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
