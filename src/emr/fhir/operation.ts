import type { Implementation } from '../operations/operations.ts';
import type { Emr } from './references.ts';
import type { Requirement } from './transport/capabilities.ts';

/**
 * How FHIR servers carry out an operation. `requires` names only what the operation cannot work without: optional
 * additions (the insurance of a patient, the results of an order) are left out where the server lacks them.
 */
export type FhirOperation = Implementation<Emr, Requirement>;

export function reading<Key, Result>(read: (emr: Emr, key: Key) => Promise<Result>) {
  return (emr: Emr) => (key: Key) => read(emr, key);
}

/** The same requirements for several fields. */
export function requireFor<Field extends string>(fields: readonly Field[], requirements: readonly Requirement[]) {
  // The type that Object.fromEntries returns has any text as key.
  return Object.fromEntries(fields.map((field) => [field, requirements])) as Record<Field, readonly Requirement[]>;
}
