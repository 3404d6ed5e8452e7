import type * as fhir from 'fhir/r4.js';
import { EmrFailure } from '../emrFailure.ts';
import type { SavedField } from '../operations/operation.ts';
import type { FhirClient } from './transport/client.ts';

/** One field of the interface and its place in a resource. `write` clears it if the value is null. */
export type Field<Resource> = {
  property: string;
  label: string;
  read: (resource: Resource) => string | null;
  write: (resource: Resource, value: string | null) => void;
};

/** A field and its new value. */
export type Setting<Resource> = { field: Field<Resource>; value: string | null };

/** The settings for these values, by property. An empty text clears the field. */
export function toSettings<Resource>(
  fields: readonly Field<Resource>[],
  values: Record<string, unknown>,
): Setting<Resource>[] {
  return fields
    .filter(({ property }) => values[property] !== undefined)
    .map((field) => {
      const value = values[field.property];
      return { field, value: value === null || value === '' ? null : String(value) };
    });
}

export function applySettings<Resource>(resource: Resource, settings: readonly Setting<Resource>[]): Resource {
  for (const { field, value } of settings) field.write(resource, value);
  return resource;
}

/** Stores new values of the fields of a record. Returns what changed. */
export async function updateFields<T extends fhir.FhirResource>(
  client: FhirClient,
  update: {
    type: T['resourceType'];
    id: string;
    settings: readonly Setting<T>[];
    marker: string;
    /** Default: `mergeSettings`. */
    change?: (current: T, first: T) => T;
  },
): Promise<SavedField[]> {
  const { type, id, settings, marker } = update;
  const { change = (current: T, first: T) => mergeSettings(current, first, settings) } = update;
  const { before, after } = await client.update<T>(type, id, change, marker);
  return describeChanges(before, after, settings);
}

/**
 * Sets fields of a record that others may change concurrently. `first` is the version read first: a field that has
 * changed since then is not overwritten.
 */
export function mergeSettings<Resource>(
  current: Resource,
  first: Resource,
  settings: readonly Setting<Resource>[],
): Resource {
  for (const { field, value } of settings) {
    const now = field.read(current);
    if (now !== field.read(first) && now !== value) {
      const message = `${field.label} was changed in the EMR at the same time. Nothing was saved.`;
      throw new EmrFailure('refused', message, { code: 'record_changed' });
    }
  }
  return applySettings(current, settings);
}

/** The changes between two versions. A value that the server saved differently is marked. */
export function describeChanges<Resource>(
  before: Resource | undefined,
  after: Resource,
  settings: readonly Setting<Resource>[],
): SavedField[] {
  return settings.flatMap(({ field, value }) => {
    const [was, is] = [before === undefined ? null : field.read(before), field.read(after)];
    if (was === is && is === value) return [];
    const corrected = is === value ? {} : { corrected: { sent: value, note: 'The EMR saved a different value.' } };
    return [{ field_label: field.label, before: was, after: is, property: field.property, ...corrected }];
  });
}

/** The changes of an update that was found after a lost response. The previous values are unknown. */
export function changesWithoutBefore<Resource>(after: Resource, settings: readonly Setting<Resource>[]): SavedField[] {
  const note = 'The EMR’s response was lost, so the previous value is unknown.';
  return settings.map(({ field, value }) => ({
    field_label: field.label,
    before: null,
    after: field.read(after),
    property: field.property,
    corrected: { sent: value, note },
  }));
}
