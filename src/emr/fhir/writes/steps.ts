import type * as fhir from 'fhir/r4.js';
import { EmrFailure } from '../../connector.ts';
import { unsupportedField } from '../../fieldSupport.ts';
import type { FhirClient } from '../transport/client.ts';

/**
 * A write of several records must be able to continue after an interruption. Each record has its own marker and is
 * searched before it is created. `found`: an earlier attempt created it.
 */
export async function findOrCreate<T extends fhir.FhirResource>(
  client: FhirClient,
  resource: T,
  marker: string,
): Promise<{ resource: T; found: boolean }> {
  const type: T['resourceType'] = resource.resourceType;
  const present = client.canFind(type) ? await client.findByMarker<T>(type, marker) : undefined;
  if (present) return { resource: present, found: true };
  return { resource: await client.create<T>(resource, marker), found: false };
}

/**
 * Runs work that follows a create. If it fails, the record exists nevertheless: a rejection says so (`message`), and
 * any other failure leaves the outcome unknown until the record is looked up. `required`: a server that refuses this work
 * as a whole does not offer the write.
 */
export async function afterCreate<T>(
  message: string,
  work: () => Promise<T>,
  { required = false }: { required?: boolean } = {},
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof EmrFailure)) throw error;
    const final = error.kind === 'refused' || error.kind === 'not_found';
    if (final)
      throw new EmrFailure('refused', `${message} ${error.message}`, {
        code: error.code,
        details: error.details ?? {},
        not_offered: required && error.not_offered,
        cause: error,
      });
    throw new EmrFailure('unknown_outcome', error.message, { accepted: error.accepted, cause: error });
  }
}

/**
 * Runs a write of a record that only a field of the request needs. A server that refuses such records as a whole still
 * offers the operation; the client remembers the refusal, so that the field is no longer offered.
 */
export async function forField<T>(field: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof EmrFailure && error.not_offered)) throw error;
    const message = `Field '${field}' is not supported by this EMR. ${error.message}`;
    throw new EmrFailure('refused', message, { code: error.code, cause: error });
  }
}

/** Fields that FHIR R4 does not have are rejected by their interface name instead of being dropped. */
export function rejectUnsupported(fields: Record<string, unknown>): void {
  const field = Object.keys(fields).find((name) => {
    const value = fields[name];
    return value !== undefined && value !== null && value !== false && value !== '';
  });
  if (field !== undefined) throw unsupportedField(field);
}

export function idOf(resource: fhir.FhirResource): string {
  const { id } = resource;
  if (id === undefined || id === '') throw new EmrFailure('unknown_outcome', 'The EMR did not confirm what it stored.');
  return id;
}
