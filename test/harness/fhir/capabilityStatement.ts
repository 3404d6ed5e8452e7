import { getSearchParameters } from '@medplum/core';
import type { CapabilityStatement, CapabilityStatementRestResource, SearchParameter } from '@medplum/fhirtypes';
import type { FaultSwitches, Interaction } from './faults.ts';

/** The types of a practice's EMR. The rest of FHIR's 145 types is not supported. */
const types = [
  'Account',
  'AllergyIntolerance',
  'Appointment',
  'Binary',
  'ChargeItemDefinition',
  'Claim',
  'ClaimResponse',
  'Communication',
  'Condition',
  'Coverage',
  'DiagnosticReport',
  'DocumentReference',
  'Encounter',
  'ExplanationOfBenefit',
  'Flag',
  'HealthcareService',
  'Invoice',
  'Location',
  'Medication',
  'MedicationRequest',
  'MedicationStatement',
  'Observation',
  'Organization',
  'Patient',
  'PaymentReconciliation',
  'Practitioner',
  'PractitionerRole',
  'Provenance',
  'RelatedPerson',
  'Schedule',
  'ServiceRequest',
  'Slot',
  'Task',
] as const satisfies readonly CapabilityStatementRestResource['type'][];

const interactions: readonly Interaction[] = ['read', 'search-type', 'create', 'update'];

/** The interactions that are currently supported for a type. */
export function listInteractions(type: string, faults: FaultSwitches): readonly Interaction[] {
  const withheld = faults.withheld[type] ?? [];
  if (withheld === 'all' || !types.some((each) => each === type)) return [];
  const all = type === 'Binary' ? interactions.filter((one) => one !== 'search-type') : interactions;
  return all.filter((one) => !withheld.includes(one));
}

/** The search parameters of a type: those of R4 that Medplum's matcher supports. */
export function listParameters(type: string, faults: FaultSwitches): SearchParameter[] {
  return Object.values(getSearchParameters(type) ?? {}).filter(
    ({ code, type: kind }) =>
      ['reference', 'string', 'uri', 'token', 'date'].includes(kind) &&
      code !== '_compartment' &&
      (faults.search_by_identifier || code !== 'identifier') &&
      !faults.withheld_params[type]?.includes(code),
  );
}

/** The server's `metadata`, derived from the same switches as its behavior. */
export function capabilityStatement(
  faults: FaultSwitches,
  oauth: { authorize: string; token: string },
): CapabilityStatement {
  return {
    resourceType: 'CapabilityStatement',
    status: 'active',
    date: '2026-01-01',
    kind: 'instance',
    software: { name: 'Medplum FHIR router', version: '4.5.2' },
    fhirVersion: '4.0.1',
    format: ['json'],
    rest: [
      {
        mode: 'server',
        security: {
          service: [
            {
              coding: [
                { system: 'http://terminology.hl7.org/CodeSystem/restful-security-service', code: 'SMART-on-FHIR' },
              ],
            },
          ],
          extension: [
            {
              url: 'http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris',
              extension: [
                { url: 'authorize', valueUri: oauth.authorize },
                { url: 'token', valueUri: oauth.token },
              ],
            },
          ],
        },
        resource: types.map((type) => describeResource(type, faults)).filter(({ interaction }) => interaction?.length),
      },
    ],
  };
}

function describeResource(type: CapabilityStatementRestResource['type'], faults: FaultSwitches) {
  const offered = listInteractions(type ?? '', faults);
  const parameters = offered.includes('search-type') ? listParameters(type ?? '', faults) : [];
  const included = parameters.filter((parameter) => parameter.type === 'reference');
  return {
    type,
    interaction: offered.map((code) => ({ code })),
    ...(faults.us_core && {
      supportedProfile: [`http://hl7.org/fhir/us/core/StructureDefinition/us-core-${type?.toLowerCase()}|6.1.0`],
    }),
    versioning: faults.versioning,
    readHistory: false,
    updateCreate: false,
    conditionalCreate: faults.conditional_create && offered.includes('create'),
    searchInclude: included.map(({ code }) => `${type}:${code}`),
    searchParam: parameters.map(({ code, type: kind }) => ({ name: code, type: kind })),
  };
}
