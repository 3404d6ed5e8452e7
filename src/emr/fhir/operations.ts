import type { EmrWrite } from '../operations/operation.ts';
import { type Capability, listCapabilities, type Operations } from '../operations/operations.ts';
import { appointment_operations } from './appointments/appointments.ts';
import { booking_operations } from './appointments/booking.ts';
import { change_operations } from './appointments/changes.ts';
import { schedule_operations } from './appointments/hours.ts';
import { payment_operations } from './billing/payments.ts';
import { alert_operations } from './chart/alerts.ts';
import { document_operations } from './chart/documents.ts';
import { medication_operations } from './chart/medications.ts';
import { note_operations } from './chart/notes.ts';
import { order_operations } from './chart/orders.ts';
import { referral_operations } from './chart/referrals.ts';
import { task_operations } from './chart/tasks.ts';
import { claim_operations } from './claims/claims.ts';
import { account_operations } from './coverage/accounts.ts';
import { coverage_operations } from './coverage/coverage.ts';
import { coverage_write_operations } from './coverage/coverageWrites.ts';
import { eligibility_operations } from './coverage/eligibility.ts';
import { guarantor_operations } from './coverage/guarantors.ts';
import { policy_operations } from './coverage/policies.ts';
import { encounter_operations } from './encounters/encounters.ts';
import { telephone_encounter_operations } from './encounters/telephoneEncounters.ts';
import type { FhirOperation } from './operation.ts';
import { patient_operations } from './patients/patients.ts';
import { patient_write_operations } from './patients/patientWrites.ts';
import { location_operations } from './practice/locations.ts';
import { insurance_provider_operations } from './practice/organizations.ts';
import { pharmacy_operations } from './practice/pharmacies.ts';
import { provider_operations } from './practice/providers.ts';
import type { Emr } from './references.ts';
import { type Capabilities, meetsAll } from './transport/capabilities.ts';

/** Every operation that a FHIR server may support. */
export const operations: readonly FhirOperation[] = [
  ...patient_operations,
  ...provider_operations,
  ...location_operations,
  ...pharmacy_operations,
  ...insurance_provider_operations,
  ...patient_write_operations,
  ...appointment_operations,
  ...schedule_operations,
  ...booking_operations,
  ...change_operations,
  ...claim_operations,
  ...order_operations,
  ...referral_operations,
  ...medication_operations,
  ...alert_operations,
  ...document_operations,
  ...payment_operations,
  ...account_operations,
  ...coverage_operations,
  ...coverage_write_operations,
  ...policy_operations,
  ...eligibility_operations,
  ...guarantor_operations,
  ...encounter_operations,
  ...telephone_encounter_operations,
  ...task_operations,
  ...note_operations,
];

/** The operations that a server with these capabilities supports, and the fields that not every server can store. */
export function supportedCapabilities(capabilities: Capabilities): Capability[] {
  return listCapabilities(operations, (requirements) => meetsAll(capabilities, requirements));
}

export function createSupportedOperations(emr: Emr): Partial<Operations> {
  const supported = operations.filter(({ requires = [] }) => meetsAll(emr.client.capabilities, requires));
  return Object.fromEntries(supported.map(({ operation, open }) => [operation, announceWrites(emr, open(emr))]));
}

/** Writes first read what they refer to, which may take seconds, and announce when they send something. */
export function announceWrites({ client }: Pick<Emr, 'client'>, operation: unknown): unknown {
  // Writes are the only operations that are objects.
  if (typeof operation !== 'object' || operation === null) return operation;
  const write = operation as EmrWrite<unknown, unknown>;
  return {
    ...write,
    announces: true,
    send: (input, marker, sending) => client.announce(sending, () => write.send(input, marker)),
  } satisfies EmrWrite<unknown, unknown>;
}
