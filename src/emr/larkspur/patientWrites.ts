import { EmrFailure } from '../emrFailure.ts';
import type { Operations } from '../operations/operations.ts';
import type { Demographics, EmrDoctor } from '../operations/patients.ts';
import { path } from './call.ts';
import { getCodeLists, hasListCodes, patient_properties, toChanges } from './changes.ts';
import { party_codes, toPerson } from './guarantors.ts';
import { defineWrite, type LarkspurOperation, toWritten } from './operation.ts';
import { defined, nullToBlank, sexCode, toFlag, unreadable_response, usDate } from './values.ts';

const createPatient = defineWrite<Operations['createPatient']>(
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
      checkEligibility: toFlag(input.check_eligibility),
      pharmacyIds: input.pharmacy_ehr_id === null ? [] : [input.pharmacy_ehr_id],
    },
  }),
  ({ recordId, mrn }) => {
    if (mrn === undefined) throw new EmrFailure('unknown_outcome', unreadable_response);
    return { ehr_id: recordId, mrn };
  },
);

const updatePatient = defineWrite<Operations['updatePatient']>(
  'update_patient',
  (input) => ({
    path: path`/api/patients/${input.patient_ehr_id}/demographics`,
    body: { ...toDemographics(input), keepAddressHistory: toFlag(input.save_previous_address) },
  }),
  async (receipt, request) => {
    // The write is saved: if the lists cannot be read now, the changes show the codes.
    const lists = hasListCodes(receipt) ? await getCodeLists(request).catch(() => undefined) : undefined;
    return { ehr_id: receipt.recordId, changes: toChanges(receipt, patient_properties, lists) };
  },
);

const requestEligibility = defineWrite<Operations['requestEligibility']>(
  'request_eligibility',
  (input) => ({ path: path`/api/patients/${input.patient_ehr_id}/eligibility-checks`, body: {} }),
  toWritten,
);

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
    selfPayFlag: toFlagIfSent(input.self_pay),
    releaseOfInfoFlag: toFlagIfSent(input.release_of_info),
    rxConsentFlag: toFlagIfSent(input.rx_history_consent),
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

/** A flag is always set, so clearing one leaves it as it is. */
function toFlagIfSent(value: boolean | null | undefined): 'Y' | 'N' | undefined {
  return value === null || value === undefined ? undefined : toFlag(value);
}

export const patient_write_operations: readonly LarkspurOperation[] = [
  { operation: 'createPatient', open: createPatient },
  { operation: 'updatePatient', open: updatePatient },
  { operation: 'requestEligibility', open: requestEligibility },
];
