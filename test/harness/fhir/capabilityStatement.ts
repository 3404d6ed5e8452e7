import { getSearchParameters } from '@medplum/core';
import type { CapabilityStatement, CapabilityStatementRestResource, SearchParameter } from '@medplum/fhirtypes';
import type { FaultSwitches, Interaction } from './faults.ts';
import { vendors } from './vendors/vendors.ts';

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
  'CoverageEligibilityResponse',
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
  'PaymentNotice',
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
  const listed = vendorInteractions(type, faults);
  if (withheld === 'all' || !types.some((each) => each === type)) return [];
  const all = type === 'Binary' ? interactions.filter((one) => one !== 'search-type') : interactions;
  return all.filter(
    (one) =>
      !withheld.includes(one) &&
      (listed?.includes(one) ?? true) &&
      !(faults.books_offers && type === 'Appointment' && one === 'create'),
  );
}

/** The search parameters of a type: those of R4 that Medplum's matcher supports, as far as the vendor lists them. */
export function listParameters(type: string, faults: FaultSwitches): SearchParameter[] {
  const listed = vendorParams(type, faults);
  return Object.values(getSearchParameters(type) ?? {}).filter(
    ({ code, type: kind }) =>
      (listed?.includes(code) ?? true) &&
      ['reference', 'string', 'uri', 'token', 'date'].includes(kind) &&
      code !== '_compartment' &&
      (faults.search_by_identifier || code !== 'identifier') &&
      !faults.withheld_params[type]?.includes(code),
  );
}

/** Whether records of a type are changed by JSON Patch only. */
export function isPatched(type: string, faults: FaultSwitches): boolean {
  const listed = vendorInteractions(type, faults);
  return (
    faults.patched.includes(type) || (listed?.includes('patch') === true && !stated(type, faults).includes('update'))
  );
}

/** What the vendor states. A type that is patched is one that can be updated. */
function vendorInteractions(type: string, faults: FaultSwitches): string[] | undefined {
  if (!faults.vendor) return undefined;
  const names = stated(type, faults);
  return names.includes('patch') ? [...names, 'update'] : names;
}

function stated(type: string, { vendor }: FaultSwitches): string[] {
  return ((vendor && vendors[vendor].statement[type]?.[0]) ?? '').split(' ');
}

/** What the vendor lists, its own parameters included. Undefined without a vendor. */
export function vendorParams(type: string, { vendor }: FaultSwitches): string[] | undefined {
  return vendor && (vendors[vendor].statement[type]?.[1] ?? '').split(' ').filter(Boolean);
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
    software: faults.vendor
      ? { name: vendors[faults.vendor].title, version: '2026' }
      : { name: 'Medplum FHIR router', version: '4.5.2' },
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
        resource: [
          ...types.map((type) => describeResource(type, faults)).filter(({ interaction }) => interaction?.length),
          ...(faults.bulk?.levels.includes('Group')
            ? [
                {
                  type: 'Group' as const,
                  interaction: [{ code: 'search-type' as const }],
                  operation: [exports('Group')],
                },
              ]
            : []),
        ],
      },
    ],
  };
}

function exports(level: 'Patient' | 'Group') {
  const definition = `http://hl7.org/fhir/uv/bulkdata/OperationDefinition/${level.toLowerCase()}-export`;
  return { name: 'export', definition };
}

function describeResource(type: CapabilityStatementRestResource['type'], faults: FaultSwitches) {
  const offered = listInteractions(type ?? '', faults);
  const parameters = offered.includes('search-type') ? listParameters(type ?? '', faults) : [];
  const [, , versioning] = (faults.vendor && vendors[faults.vendor].statement[type ?? '']) || [];
  const withheld = faults.withheld_params[type ?? ''] ?? [];
  const own = (vendorParams(type ?? '', faults) ?? []).filter(
    (name) => !withheld.includes(name) && !parameters.some(({ code }) => code === name),
  );
  const included = parameters.filter((parameter) => parameter.type === 'reference');
  const operation = [
    ...(faults.validates.includes(type ?? '')
      ? [{ name: 'validate', definition: 'http://hl7.org/fhir/OperationDefinition/Resource-validate' }]
      : []),
    ...(faults.books_offers && type === 'Appointment'
      ? ['find', 'book'].map((name) => ({
          name,
          definition: `http://fhir.org/guides/argonaut-scheduling/OperationDefinition/appointment-${name}`,
        }))
      : []),
    ...(type === 'Patient' && faults.bulk?.levels.includes('Patient') ? [exports('Patient')] : []),
  ];
  return {
    type,
    interaction: offered.map((code) => ({
      code: code === 'update' && isPatched(type ?? '', faults) ? ('patch' as const) : code,
    })),
    ...(faults.us_core && {
      supportedProfile: [`http://hl7.org/fhir/us/core/StructureDefinition/us-core-${type?.toLowerCase()}|6.1.0`],
    }),
    ...(operation.length > 0 && { operation }),
    versioning: versioning ?? faults.versioning,
    readHistory: false,
    updateCreate: false,
    conditionalCreate: faults.conditional_create && !faults.vendor && offered.includes('create'),
    searchInclude: included.map(({ code }) => `${type}:${code}`),
    searchParam: [
      ...parameters.map(({ code, type: kind }) => ({ name: code, type: kind })),
      ...(offered.includes('search-type') ? own.map((name) => ({ name, type: 'string' as const })) : []),
    ],
  };
}
