import type { Static, TObject } from 'typebox';
import { record_kinds } from '../../model/records/kinds.ts';
import { type AppointmentOperations, appointment_operations } from './appointments.ts';
import { type BillingOperations, billing_operations } from './billing.ts';
import { type DocumentOperations, document_operations } from './documents.ts';
import { type GuarantorOperations, guarantor_operations } from './guarantors.ts';
import { type InsuranceOperations, insurance_operations } from './insurance.ts';
import { type NoteOperations, note_operations } from './notes.ts';
import type { ListName, ListOperations, WriteIn } from './operation.ts';
import { type PatientOperations, patient_operations } from './patients.ts';
import { type PracticeOperations, practice_operations } from './practice.ts';
import { type ReferralOperations, referral_operations } from './referrals.ts';
import { type TaskOperations, task_operations } from './tasks.ts';
import { type TelephoneEncounterOperations, telephone_encounter_operations } from './telephoneEncounters.ts';

/** Every operation an EMR may support. A connector implements a subset. */
export type Operations = ListOperations &
  PatientOperations &
  InsuranceOperations &
  AppointmentOperations &
  DocumentOperations &
  BillingOperations &
  TelephoneEncounterOperations &
  TaskOperations &
  NoteOperations &
  PracticeOperations &
  ReferralOperations &
  GuarantorOperations;
export type OperationName = keyof Operations;
export type WriteName = WriteIn<Operations>;

/** All operations except the lists, which are declared with their record kinds. */
export const operations = {
  ...patient_operations,
  ...insurance_operations,
  ...appointment_operations,
  ...document_operations,
  ...billing_operations,
  ...telephone_encounter_operations,
  ...task_operations,
  ...note_operations,
  ...practice_operations,
  ...referral_operations,
  ...guarantor_operations,
};

// Object.keys loses the type of the keys.
const names = Object.keys(operations) as (keyof typeof operations)[];
export type ReadName = Exclude<OperationName, WriteName | ListName>;
export const list_names: readonly ListName[] = record_kinds.map(({ operation }) => operation);
export const read_names = names.filter((name): name is ReadName => 'result' in operations[name]);
export const write_names = names.filter((name): name is WriteName => !('result' in operations[name]));

/** The fields of requests, by the operation that stores them. */
export type FieldsOf<Name> = Name extends keyof typeof operations
  ? (typeof operations)[Name] extends { fields: { body: infer Body extends TObject } }
    ? keyof Static<Body> & string
    : never
  : never;
/** The operations whose input comes from the fields of a request. */
export type FieldOperation = {
  [Name in OperationName]: [FieldsOf<Name>] extends [never] ? never : Name;
}[OperationName];
/** A field that only some servers of an EMR can store: `uploadDocument.is_high_priority`. */
export type FieldCapability = { [Name in FieldOperation]: `${Name}.${FieldsOf<Name>}` }[FieldOperation];
export type Capability = OperationName | FieldCapability;

/** How a connector implements an operation. */
export type Implementation<Session, Requirement> = {
  [Name in OperationName]: {
    operation: Name;
    /** What a server must have for it, in EMRs whose servers differ. */
    requires?: readonly Requirement[];
    /**
     * The fields of a request that the EMR has no place for. A request with one of them is rejected; all other fields
     * must be written. The operation rejects them too, by name.
     */
    unsupported_fields?: readonly FieldsOf<Name>[];
    /** The fields that are optional in the interface but required by the EMR. A request without one is rejected. */
    required_fields?: readonly FieldsOf<Name>[];
    /** The fields that only some servers can store, with what a server must have for them. */
    field_requires?: { readonly [Field in FieldsOf<Name>]?: readonly Requirement[] };
    open: (session: Session) => Operations[Name];
  };
}[OperationName];

/** What a connector supports: operations, and fields that not all of its servers can store. */
export function listCapabilities<Session, Requirement>(
  implementations: readonly Implementation<Session, Requirement>[],
  areMet: (requirements: readonly Requirement[]) => boolean = () => true,
): Capability[] {
  const supported = implementations.filter(({ requires = [] }) => areMet(requires));
  const fields = supported.flatMap(({ operation, field_requires = {} }) =>
    Object.entries<readonly Requirement[]>(field_requires)
      .filter(([, requires]) => areMet(requires))
      // The type of `field_requires` allows no other keys.
      .map(([field]) => `${operation}.${field}` as FieldCapability),
  );
  return [...supported.map(({ operation }) => operation), ...fields];
}

export function listUnsupportedFields<Session, Requirement>(
  implementations: readonly Implementation<Session, Requirement>[],
): { readonly [Name in FieldOperation]?: readonly FieldsOf<Name>[] } {
  return Object.fromEntries(
    implementations.map(({ operation, unsupported_fields = [] }) => [operation, unsupported_fields]),
  );
}

export function listRequiredFields<Session, Requirement>(
  implementations: readonly Implementation<Session, Requirement>[],
): { readonly [Name in FieldOperation]?: readonly FieldsOf<Name>[] } {
  return Object.fromEntries(implementations.map(({ operation, required_fields = [] }) => [operation, required_fields]));
}

export function createOperations<Session, Requirement>(
  implementations: readonly Implementation<Session, Requirement>[],
  session: Session,
): Partial<Operations> {
  return Object.fromEntries(implementations.map(({ operation, open }) => [operation, open(session)]));
}
