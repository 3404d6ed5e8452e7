import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { CodeLists } from '../../model/settings.ts';
import type { SavedField } from '../operations/operation.ts';
import { requireBody } from './call.ts';
import { toRelationship } from './guarantors.ts';
import type { LarkspurOperation, Receipt } from './operation.ts';
import type { SendRequest } from './session.ts';
import { blankToNull, isoDate, text, toFieldName, toSex } from './values.ts';

/** Interface names of Larkspur's fields, by kind of record. Fields that are not listed are not reported. */
type Properties = Record<string, Record<string, string>>;

const person = {
  firstName: 'first_name',
  middleName: 'middle_name',
  lastName: 'last_name',
  birthDate: 'dob',
  sexCode: 'sex',
};

export const patient_properties: Properties = {
  patient: {
    ...person,
    homePhone: 'phone',
    cellPhone: 'cell_phone',
    email: 'email',
    noEmailReason: 'no_email_reason',
    'address.line1': 'address_street',
    'address.line2': 'address_line2',
    'address.city': 'address_city',
    'address.state': 'address_state',
    'address.zip': 'address_zip',
    languageCode: 'language',
    raceCode: 'race',
    ethnicityCode: 'ethnicity',
    selfPayFlag: 'self_pay',
    releaseOfInfoFlag: 'release_of_info',
    rxConsentFlag: 'rx_history_consent',
    referringFirstName: 'referring_provider_first_name',
    referringLastName: 'referring_provider_last_name',
    referringId: 'referring_provider_id',
    pcpFirstName: 'pcp_first_name',
    pcpLastName: 'pcp_last_name',
    pcpId: 'pcp_id',
    renderingProviderId: 'referred_to_provider_id',
    defaultFacilityId: 'default_facility_id',
    'emergencyContact.firstName': 'emergency_contact_first_name',
    'emergencyContact.lastName': 'emergency_contact_last_name',
    'emergencyContact.relation': 'emergency_contact_relation',
    'emergencyContact.phone': 'emergency_contact_phone',
  },
};

export const insurance_properties: Properties = {
  insurance: {
    subscriberNumber: 'member_id',
    groupNumber: 'group_id',
    companyId: 'insurance_ehr_id',
    companyName: 'insurance_name',
    payerId: 'insurance_payer_id',
    priority: 'priority',
    planBegins: 'plan_begin_date',
    planEnds: 'plan_end_date',
    copayment: 'copayment',
    relationshipCode: 'relationship_to_subscriber',
    guarantorId: 'guarantor_id',
    guarantorIsPatient: 'is_guarantor_patient',
  },
  'swapped insurance': { priority: 'swapped_insurance.priority' },
  guarantor: {
    relationshipCode: 'guarantor_relationship',
    ...Object.fromEntries(
      Object.entries({
        ...person,
        phone: 'phone',
        'address.line1': 'street_line_1',
        'address.city': 'city',
        'address.state': 'state',
        'address.zip': 'zip',
      }).map(([field, name]) => [field, `subscriber_demographics.${name}`]),
    ),
  },
};

/** What a write changed, in interface names. Includes fields that Larkspur reset to their previous value. */
export function toChanges({ changes, corrections }: Receipt, properties: Properties, lists?: CodeLists): SavedField[] {
  const main_record = Object.keys(properties)[0] ?? '';
  const unchanged = corrections
    .filter(({ field }) => !changes.some((change) => change.field === field))
    .map(({ field, saved }) => ({
      record: main_record,
      field,
      label: defaultLabel(field),
      before: toText(saved),
      after: toText(saved),
    }));
  return [...changes, ...unchanged].flatMap(({ record, field, label, before, after }) => {
    const property = properties[record]?.[field];
    if (property === undefined) return [];
    const correction = corrections.find((each) => each.field === field);
    const format = (value: string | null) => (value === null ? null : formatValue(record, field, value, lists));
    const corrected = correction && { corrected: { sent: format(toText(correction.sent)), note: correction.note } };
    return [{ field_label: label, before: format(before), after: format(after), property, ...corrected }];
  });
}

/** A label for a field without one: `groupNumber` becomes 'Group number'. */
function defaultLabel(field: string): string {
  const words = field.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function toText(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}

/** Converts Larkspur's dates, flags and codes to the values of the interface, blank text to null, and leaves the rest. */
function formatValue(record: string, field: string, value: string, lists: CodeLists | undefined): string | null {
  if (record === 'guarantor' && field === 'relationshipCode') return toRelationship(value);
  if (field === 'sexCode') return toSex(value);
  if (/Flag$|^guarantorIsPatient$/.test(field)) return value === 'Y' ? 'true' : value === 'N' ? 'false' : value;
  const list = code_fields.get(field);
  if (list) return lists?.[list].find(({ code }) => code === value)?.name ?? value;
  return isoDate(value) ?? blankToNull(value);
}

/** The fields with codes of the practice, and the list of each. */
const code_fields = new Map<string, 'languages' | 'races' | 'ethnicities'>([
  ['languageCode', 'languages'],
  ['raceCode', 'races'],
  ['ethnicityCode', 'ethnicities'],
]);

export function hasListCodes({ changes }: Receipt): boolean {
  return changes.some(({ field }) => code_fields.has(field));
}

const codes = Type.Array(Type.Object({ code: text, name: text }));
const code_lists = Compile(
  Type.Object({
    languages: codes,
    races: codes,
    ethnicities: codes,
    paymentMethods: codes,
    phoneCallTypes: codes,
    requiredPatientFields: Type.Array(text),
  }),
);

export async function getCodeLists(request: SendRequest): Promise<CodeLists> {
  const lists = requireBody(await request({ method: 'GET', path: '/api/code-lists', schema: code_lists }));
  const toCodes = (entries: typeof lists.languages) => entries.map(({ code, name }) => ({ code, name }));
  return {
    languages: toCodes(lists.languages),
    races: toCodes(lists.races),
    ethnicities: toCodes(lists.ethnicities),
    payment_methods: toCodes(lists.paymentMethods),
    phone_call_types: lists.phoneCallTypes.map(({ code, name }) => ({ id: code, name })),
    required_patient_fields: lists.requiredPatientFields.map(toFieldName),
  };
}

export const code_list_operations: readonly LarkspurOperation[] = [
  { operation: 'getCodeLists', open: (request) => () => getCodeLists(request) },
];
