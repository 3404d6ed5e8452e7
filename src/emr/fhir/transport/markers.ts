import type * as fhir from 'fhir/r4.js';
import { searchValue } from './search.ts';

/** Identifier system of our markers: one for the write that created the record, and those of the latest updates. */
export const marker_system = 'urn:chartwire:marker';

/**
 * Appends our marker. The first marker is kept, so that a lost create is found even after later changes; of the
 * updates, as many as can be in progress for one record.
 */
export function withMarker<T extends fhir.FhirResource>(resource: T, marker: string): T {
  if (!hasIdentifier(resource.resourceType)) return resource;
  const [first, ...later] = markersOf(resource);
  if (first === marker || later.includes(marker)) return resource;
  const others = identifiersOf(resource).filter(({ system }) => system !== marker_system);
  const markers = [...(first === undefined ? [] : [first]), ...later.slice(2 - markers_max), marker];
  return { ...resource, identifier: [...others, ...markers.map((value) => ({ system: marker_system, value }))] };
}

/** Each account of a practice has its own lane to a record. More than this are not in progress at once. */
const markers_max = 6;

export function markersOf(resource: fhir.FhirResource): string[] {
  return identifiersOf(resource)
    .filter(({ system }) => system === marker_system)
    .map(({ value }) => value ?? '');
}

function identifiersOf(resource: fhir.FhirResource): fhir.Identifier[] {
  const { identifier } = resource as { identifier?: unknown };
  return Array.isArray(identifier) ? identifier.filter((each) => typeof each === 'object' && each !== null) : [];
}

export function hasIdentifier(type: string): boolean {
  return type !== 'Binary';
}

export function markerValue(marker: string): string {
  return `${marker_system}|${searchValue(marker)}`;
}
