import type * as fhir from 'fhir/r4.js';
import { fold } from '../../../model/fold.ts';
import { nameOf } from '../values.ts';

/** How far the server's clock may be off, and how long a create may take. */
export const clock_tolerance_ms = 15 * 60_000;

/**
 * Whether a stored record without our marker is the one that was just sent: a new one, of the same person. A patient is
 * compared by name and birth date, any other record by its patients.
 */
export function isSameRecord(sent: fhir.FhirResource, stored: fhir.FhirResource): boolean {
  if (isOlderThan(stored, Date.now() - clock_tolerance_ms)) return false;
  if (sent.resourceType === 'Patient' && stored.resourceType === 'Patient') return isSamePerson(sent, stored);
  const [ours, theirs] = [patientsIn(sent), patientsIn(stored)];
  return ours.length > 0 && ours.join() === theirs.join();
}

/** Whether a record is known to have been stored before an instant. */
export function isOlderThan({ meta }: fhir.FhirResource, instant_ms: number): boolean {
  return Date.parse(meta?.lastUpdated ?? '') < instant_ms;
}

function isSamePerson(one: fhir.Patient, other: fhir.Patient): boolean {
  const [ours, theirs] = [nameOf(one.name), nameOf(other.name)];
  const same = (a: string | null, b: string | null) => fold(a ?? '') === fold(b ?? '');
  return same(ours.first, theirs.first) && same(ours.last, theirs.last) && one.birthDate === other.birthDate;
}

function patientsIn(resource: fhir.FhirResource): string[] {
  const references = JSON.stringify(resource).match(/"Patient\/[A-Za-z0-9.-]{1,64}"/g) ?? [];
  return [...new Set(references)].sort();
}
