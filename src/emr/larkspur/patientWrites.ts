import type { ResponsibleParty } from '../../model/requests/patients.ts';
import { EmrFailure, type Operations } from '../connector.ts';
import type { Demographics, EmrDoctor, Payer } from '../writeInputs.ts';
import { path, unreadable_response } from './call.ts';
import { hasListCodes, patient_properties, toChanges } from './changes.ts';
import { getCodeLists } from './codeLists.ts';
import { defineWrite, toWritten } from './defineWrite.ts';
import { defined, sexCode, usDate } from './values.ts';

export const createPatient = defineWrite<Operations['createPatient']>(
  'create_patient',
  (input) => ({
    path: '/api/patients',
    body: {
      ...toDemographics(input),
      ...(input.payer && {
        responsiblePartyCode: party_codes[input.payer.relationship],
        responsibleParty: toPerson(input.payer),
      }),
      insurances: input.coverages.map(({ company, member_id, priority }) => ({
        ...('ehr_id' in company ? { companyId: company.ehr_id } : { companyName: company.name }),
        subscriberNumber: member_id,
        priority,
      })),
      checkEligibility: input.check_eligibility ? 'Y' : 'N',
      pharmacyIds: input.pharmacy_ehr_id === null ? [] : [input.pharmacy_ehr_id],
    },
  }),
  ({ recordId, mrn }) => {
    if (mrn === undefined) throw new EmrFailure('unknown_outcome', unreadable_response);
    return { ehr_id: recordId, mrn };
  },
);

export const updatePatient = defineWrite<Operations['updatePatient']>(
  'update_patient',
  (input) => ({
    path: path`/api/patients/${input.patient_ehr_id}/demographics`,
    body: { ...toDemographics(input), keepAddressHistory: yesNo(input.save_previous_address) },
  }),
  async (receipt, request) => {
    // The write is saved: if the lists cannot be read now, the changes show the codes.
    const lists = hasListCodes(receipt) ? await getCodeLists(request).catch(() => undefined) : undefined;
    return { ehr_id: receipt.recordId, changes: toChanges(receipt, patient_properties, lists) };
  },
);

export const addGuarantor = defineWrite<Operations['addGuarantor']>(
  'add_guarantor',
  (input) => ({
    path: path`/api/patients/${input.patient_ehr_id}/guarantors`,
    body: { ...toPerson(input), relationshipCode: party_codes[input.relationship] },
  }),
  toWritten,
);

export const setResponsibleParty = defineWrite<Operations['setResponsibleParty']>(
  'set_responsible_party',
  (input) => ({
    path: path`/api/patients/${input.patient_ehr_id}/responsible-party`,
    body: { responsiblePartyCode: party_codes[input.relationship], guarantorId: input.guarantor_ehr_id },
  }),
  toWritten,
);

export const requestEligibility = defineWrite<Operations['requestEligibility']>(
  'request_eligibility',
  (input) => ({ path: path`/api/patients/${input.patient_ehr_id}/eligibility-checks`, body: {} }),
  toWritten,
);

/** Larkspur's codes for responsible parties. */
const party_codes: Record<ResponsibleParty, string> = {
  self: '1',
  spouse: '2',
  child: '3',
  adopted_child: '4',
  step_child: '5',
  foster_child: '6',
  ward_of_court: '7',
  employee: '8',
  unknown: '9',
  handicapped_dependent: '10',
  organ_donor: '11',
  cadaver_donor: '12',
  grandchild: '13',
  niece_nephew: '14',
  injured_plaintiff: '15',
  sponsored_dependent: '16',
  minor_dependent: '17',
  parent: '18',
  grandparent: '19',
  life_partner: '53',
  other: '99',
};

/** Undefined fields are omitted from the body, and Larkspur leaves them unchanged. */
function toDemographics(input: Demographics): Record<string, unknown> {
  // Of an address, only the second line can be null.
  const address = defined({
    line1: nullToBlank(input.address_street),
    line2: input.address_line2,
    city: nullToBlank(input.address_city),
    state: nullToBlank(input.address_state),
    zip: nullToBlank(input.address_zip),
  });
  const contact = input.emergency_contact;
  return defined({
    firstName: input.first_name,
    lastName: input.last_name,
    middleName: input.middle_name,
    birthDate: input.dob && usDate(input.dob),
    sexCode: input.sex && sexCode(input.sex),
    homePhone: input.phone,
    cellPhone: input.cell_phone,
    email: input.email,
    noEmailReason: input.no_email_reason,
    address: Object.keys(address).length > 0 ? address : undefined,
    language: input.language,
    race: input.race,
    ethnicity: input.ethnicity,
    selfPayFlag: yesNoIfSent(input.self_pay),
    releaseOfInfoFlag: yesNoIfSent(input.release_of_info),
    rxConsentFlag: yesNoIfSent(input.rx_history_consent),
    ...toDoctor('referring', input.referring),
    ...toDoctor('pcp', input.pcp),
    renderingProviderId: input.rendering_provider_ehr_id,
    defaultFacilityId: input.default_facility_ehr_id,
    emergencyContact: contact && {
      firstName: contact.first_name,
      lastName: contact.last_name,
      relation: contact.relation,
      phone: contact.phone,
    },
  });
}

function toDoctor(role: 'referring' | 'pcp', person: EmrDoctor | null | undefined): Record<string, string | null> {
  if (person === undefined) return {};
  if (person === null) return { [`${role}Id`]: null };
  if ('ehr_id' in person) return { [`${role}Id`]: person.ehr_id };
  return { [`${role}FirstName`]: person.first_name, [`${role}LastName`]: person.last_name };
}

function toPerson({ first_name, last_name, sex, dob, phone }: Omit<Payer, 'relationship'>) {
  return {
    firstName: first_name,
    lastName: last_name,
    sexCode: sex && sexCode(sex),
    birthDate: dob && usDate(dob),
    phone,
  };
}

function nullToBlank(value: string | null | undefined): string | undefined {
  return value === null ? '' : value;
}

/** A flag is always set, so clearing one leaves it as it is. */
function yesNoIfSent(value: boolean | null | undefined): 'Y' | 'N' | undefined {
  return value === null || value === undefined ? undefined : yesNo(value);
}

function yesNo(value: boolean): 'Y' | 'N' {
  return value ? 'Y' : 'N';
}
