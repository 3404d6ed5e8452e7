import type { Evidence, Grant } from '../connector.ts';
import { announceWrites, operations as fhir_operations } from '../fhir/operations.ts';
import { type Capabilities, meetsAll, type ServerFacts, toCapabilities } from '../fhir/transport/capabilities.ts';
import { type Capability, listCapabilities, type OperationName, type Operations } from '../operations/operations.ts';
import { appointment_operations } from './appointments.ts';
import { booking_operations } from './booking.ts';
import { document_operations } from './documents.ts';
import { encounter_operations } from './encounters.ts';
import type { OpenEmr, OpenEmrOperation, Requirement } from './operation.ts';
import { patient_write_operations } from './patientWrites.ts';
import { practice_operations } from './practice.ts';

/** What OpenEMR's FHIR half lists completely. */
const taken_from_fhir: readonly OperationName[] = [
  'listPatients',
  'findPatient',
  'searchPatients',
  'listProviders',
  'listMedications',
];

const fhir_reads = fhir_operations
  .filter(({ operation }) => taken_from_fhir.includes(operation))
  .map(({ operation, requires = [], field_requires = {}, open }) => ({
    operation,
    requires,
    // OpenEMR shows no payers, and no tasks.
    ...(operation === 'searchPatients' && {
      unsupported_fields: ['include'],
      field_requires: Object.fromEntries(Object.entries(field_requires).filter(([field]) => field !== 'include')),
    }),
    open: (emr: OpenEmr) => open(emr.fhir),
    // Each entry keeps the types of its own operation.
  })) as readonly OpenEmrOperation[];

export const operations: readonly OpenEmrOperation[] = [
  ...fhir_reads,
  ...practice_operations,
  ...patient_write_operations,
  ...appointment_operations,
  ...booking_operations,
  ...encounter_operations,
  ...document_operations,
];

/** What an account offers: what its scopes allow, and what the FHIR half of its server supports. */
export function supportedCapabilities(grant: Grant): Capability[] {
  return listCapabilities(operations, isMetBy(grant));
}

export function createSupportedOperations(emr: OpenEmr, grant: Grant): Partial<Operations> {
  const isMet = isMetBy(grant);
  const supported = operations.filter(({ requires = [] }) => isMet(requires));
  return Object.fromEntries(supported.map(({ operation, open }) => [operation, announceWrites(emr.fhir, open(emr))]));
}

function isMetBy({ server = '{"types":{}}', scope = '' }: Grant): (requirements: readonly Requirement[]) => boolean {
  // Written by the FHIR sign-in from a value of this type.
  const facts: ServerFacts = JSON.parse(server);
  const capabilities: Capabilities = toCapabilities(facts);
  const granted = new Set(scope.split(/\s+/).filter((each) => each !== ''));
  return (requirements) =>
    requirements.every((each) =>
      'scopes' in each
        ? // A server that does not name the granted scopes has granted all of them.
          granted.size === 0 || each.scopes.every((name) => granted.has(`user/${name}`))
        : meetsAll(capabilities, [each]),
    );
}

const insurance =
  'Seen on OpenEMR 7.0.2: its API requires the subscriber’s social security number, overwrites what is stored, and cannot be read back. Its FHIR interface shows no payer and no member ID.';
const appointments = 'OpenEMR’s API can only delete appointments. It cannot change, move or cancel one.';
const refills = 'OpenEMR’s API has no refill requests. Send a telephone encounter instead.';

/** What people expect of an EMR and OpenEMR's API does not have. */
export const not_offered: readonly Evidence[] = (
  [
    ['updateAppointment', appointments],
    ['addPatientInsurance', insurance],
    ['updatePatientInsurance', insurance],
    ['listPatientInsurances', insurance],
    ['listInsuranceProviders', insurance],
    ['addRefill', refills],
  ] as const
).map(([capability, detail]) => ({ capability, state: 'refused', detail }));
