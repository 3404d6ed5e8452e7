import type * as fhir from 'fhir/r4.js';
import { type SeedContext, times } from './sizes.ts';

export const payers = 8;
export const pharmacies = 12;
export const locations = 3;

type NewOrganization = { id: string; name: string; code: string; text: string };
const practice = { code: 'prov', text: 'Practice' };

/** The practice, its locations, its payers and pharmacies. The last of each has only the required fields. */
export function makeOrganizations(_: SeedContext): fhir.FhirResource[] {
  const address = (number: number): fhir.Address => ({
    line: [`${100 + number} Placeholder Street`],
    city: 'Exampleton',
    state: 'NY',
    postalCode: '12207',
  });
  const organization = (number: number, { id, name, code, text }: NewOrganization): fhir.Organization => ({
    resourceType: 'Organization',
    id,
    active: number !== 5,
    name,
    type: [{ coding: [{ system: 'http://terminology.hl7.org/CodeSystem/organization-type', code }], text }],
    telecom: [{ system: 'phone', value: `518-555-01${String(10 + number)}` }],
    address: [address(number)],
  });
  return [
    organization(0, { id: 'org-practice', name: 'Meadowbrook Family Practice', ...practice }),
    organization(1, { id: 'org-elsewhere', name: 'Sampletown Specialists', ...practice }),
    ...times(payers, (index) => ({
      ...organization(index + 1, {
        id: `payer-${index + 1}`,
        name: payerNames[index] ?? '',
        code: 'pay',
        text: 'Payer',
      }),
      identifier: [{ system: 'urn:oid:2.16.840.1.113883.3.221.5', value: `TP${1000 + index}` }],
    })),
    ...times(pharmacies, (index): fhir.Organization => {
      const pharmacy = organization(index + 1, {
        id: `pharm-${index + 1}`,
        name: `Exampleton Drug ${index + 1}`,
        code: 'prov',
        text: 'Pharmacy',
      });
      const coding = { system: 'http://nucc.org/provider-taxonomy', code: '3336C0003X', display: 'Retail Pharmacy' };
      return { ...pharmacy, type: [{ coding: [...(pharmacy.type?.[0]?.coding ?? []), coding], text: 'Pharmacy' }] };
    }),
    { resourceType: 'Organization', id: 'org-bare', name: 'Bare Mutual' },
    ...times(
      locations,
      (index): fhir.Location => ({
        resourceType: 'Location',
        id: `loc-${index + 1}`,
        status: index === 2 ? 'inactive' : 'active',
        mode: 'instance',
        name: ['Main Street Clinic', 'Riverside Clinic', 'Old Town Clinic'][index] ?? '',
        telecom: [
          { system: 'phone', value: `518-555-014${index}` },
          { system: 'fax', value: `518-555-015${index}` },
        ],
        address: address(20 + index),
        managingOrganization: { reference: 'Organization/org-practice' },
        extension: [{ url: 'http://hl7.org/fhir/StructureDefinition/timezone', valueCode: 'America/New_York' }],
      }),
    ),
    { resourceType: 'Location', id: 'loc-bare' },
  ];
}

const payerNames = [
  'Examplecare Gold',
  'Mock Mutual',
  'Sample Health Plan',
  'Placebo Shield',
  'Demo Medicare',
  'Fixture Medicaid',
  'Standin Benefits',
  'Trial Union Plan',
];
