import { expect } from 'vitest';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { signInToLarkspur } from '../../journeys/support.ts';
import type { Charted, Charts, Fields, Row } from './charts.ts';

/** A patient with every field of the request, and a check that the EMR has all of them. */
export type CompletePatient = { fields: Fields; expectCharted(charted: Charted): Promise<void> };

export async function completePatient(fixture: TestSandbox, charts: Charts): Promise<CompletePatient> {
  const get = async (path: string) => (await fixture.api.call('GET', path)).body;
  const [company] = (await get('/v1/insurance-providers?name=placebo')).insurance_providers;
  const [referring] = (await get('/v1/referring-providers?last_name=Outsidely')).referring_providers;
  const [pcp] = (await get('/v1/referring-providers?last_name=Consultson')).referring_providers;
  const pharmacy = (await get('/v1/pharmacies')).pharmacies.find(({ status }: Row) => status === 'active');
  const { provider_id, location_id } = fixture.sandbox.example;
  const clinic = await signInToLarkspur(fixture.sandbox, fixture.api);
  return {
    fields: {
      first_name: 'Whole',
      last_name: `Patient${Math.random()}`.replace('.', ''),
      dob: '1999-12-31',
      sex: 'male',
      middle_name: 'Of',
      phone: '518-555-0121',
      cell_phone: '518-555-0122',
      email: 'whole@example.test',
      no_email_reason: 'None after all',
      address_street: '12 Whole Street',
      address_line2: 'Unit 3',
      address_city: 'Wholeton',
      address_state: 'VT',
      address_zip: '05001-0003',
      insurance_name: company.name,
      insurance_provider_id: company.id,
      insurance_subscriber_number: 'WHOLE-1',
      insurance_sequence: 'primary',
      secondary_insurance_name: 'Prototype PPO',
      secondary_insurance_subscriber_number: 'WHOLE-2',
      check_eligibility: 'true',
      responsible_party: 'parent',
      responsible_party_first_name: 'Pay',
      responsible_party_last_name: 'Patient',
      responsible_party_sex: 'female',
      responsible_party_dob: '1970-01-31',
      responsible_party_phone: '518-555-0123',
      referring_provider_id: referring.id,
      referring_provider_first_name: referring.first_name,
      referring_provider_last_name: referring.last_name,
      pcp_id: pcp.id,
      pcp_first_name: pcp.first_name,
      pcp_last_name: pcp.last_name,
      referred_to_provider_id: provider_id,
      emergency_contact_first_name: 'Em',
      emergency_contact_last_name: 'Ergency',
      emergency_contact_relation: 'Uncle',
      emergency_contact_phone: '518-555-0124',
      pharmacy_id: pharmacy.id,
      language: 'Russian',
      race: 'Other race',
      ethnicity: 'N',
      release_of_info: false,
      rx_history_consent: false,
      self_pay: true,
      default_facility_id: location_id,
    },
    expectCharted: async ({ mrn }) => {
      const chart = await charts.chart(mrn);
      expect(chart).toMatchObject({
        firstName: 'Whole',
        lastName: expect.stringMatching(/^Patient/),
        birthDate: '12/31/1999',
        sexCode: 'M',
        middleName: 'Of',
        homePhone: '518-555-0121',
        cellPhone: '518-555-0122',
        email: 'whole@example.test',
        noEmailReason: 'None after all',
        address: { line1: '12 Whole Street', line2: 'Unit 3', city: 'Wholeton', state: 'VT', zip: '05001-0003' },
        responsiblePartyCode: '18',
        referringId: referring.ehr_id,
        pcpId: pcp.ehr_id,
        renderingProviderId: provider_id,
        emergencyContact: { firstName: 'Em', lastName: 'Ergency', relation: 'Uncle', phone: '518-555-0124' },
        languageCode: 'RUS',
        raceCode: 'O',
        ethnicityCode: 'N',
        releaseOfInfoFlag: 'N',
        rxConsentFlag: 'N',
        selfPayFlag: 'Y',
        defaultFacilityId: location_id,
      });
      const guarantors = await charts.guarantors(chart);
      const payer = guarantors.find(({ guarantorId }) => guarantorId === chart.responsibleGuarantorId);
      expect(payer).toMatchObject({
        ...{ firstName: 'Pay', lastName: 'Patient', sexCode: 'F', birthDate: '01/31/1970', phone: '518-555-0123' },
        relationshipCode: '18',
      });
      const insurances = await charts.insurances(chart);
      const guarantorId = chart.responsibleGuarantorId;
      expect(insurances.sort((a, b) => a.priority - b.priority)).toMatchObject([
        { companyId: company.ehr_id, subscriberNumber: 'WHOLE-1', priority: 1, guarantorId },
        { companyName: 'Prototype PPO', subscriberNumber: 'WHOLE-2', priority: 2, guarantorId },
      ]);
      expect(await charts.rows('eligibility-checks', { patientId: chart.patientId })).toHaveLength(1);
      expect(await clinic.pharmacies(chart.patientId)).toContain(pharmacy.ehr_id);
    },
  };
}
