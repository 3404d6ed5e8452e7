/** The interface name of a Larkspur patient field. Names not listed differ only in case style. */
export function toFieldName(name: string): string {
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
