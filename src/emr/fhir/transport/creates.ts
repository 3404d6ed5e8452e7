import { setTimeout as wait } from 'node:timers/promises';
import type * as fhir from 'fhir/r4.js';
import { fold } from '../../../model/fold.ts';
import { EmrFailure } from '../../emrFailure.ts';
import { readName } from '../values.ts';
import type { FhirResponse } from './call.ts';
import { search, searchValue } from './search.ts';
import {
  buildUrl,
  isCollision,
  isComplete,
  isRecord,
  read,
  readLocationId,
  type Server,
  toWriteRefusal,
} from './server.ts';
import { validate } from './validation.ts';

/**
 * Creates a record. A create that collided with another request stored nothing, so it is sent again, after a look for
 * what an earlier attempt may have stored.
 */
export async function create<T extends fhir.FhirResource>(server: Server, resource: T, marker: string): Promise<T> {
  const type: T['resourceType'] = resource.resourceType;
  const conditional = server.capabilities.conditionalCreate(type) && hasIdentifier(type);
  if (server.dry_run) await validate(server, withMarker(resource, marker), 'create');
  for (let attempt = 1; ; attempt++) {
    const response = await server.request({
      method: 'POST',
      url: buildUrl(server.base, type),
      headers: {
        prefer: 'return=representation',
        ...(conditional && { 'if-none-exist': `identifier=${markerValue(marker)}` }),
      },
      body: withMarker(resource, marker),
      writes: true,
    });
    // Several records have the marker already. The first one counts.
    if (response.status === 412 && conditional) return readBack<T>(server, { type, id: undefined, marker });
    if (!isCollision(response, type)) return confirm(server, response, { sent: resource, marker, conditional });
    const present = canFind(server, type) ? await findByMarker<T>(server, type, marker) : undefined;
    if (present) return present;
    if (attempt === create_attempts_max) throw await toWriteRefusal(server, type, 'create', response);
    await wait(attempt * collision_pause_ms);
  }
}

const create_attempts_max = 3;
/** A transaction that another one collided with takes some milliseconds. */
const collision_pause_ms = 100;

/**
 * Whether this account has found a record of this type by a marker. If not, it searches for one that another account of
 * the client found at this address.
 */
export async function provesMarkers(server: Server, type: fhir.FhirResource['resourceType']): Promise<boolean> {
  if (server.facts.marked?.includes(type)) return true;
  const marker = canFind(server, type) ? await server.shared_markers?.find(type) : undefined;
  return marker !== undefined && (await findByMarker(server, type, marker)) !== undefined;
}

/** Whether a lost create of this type can be found. */
export function canFind({ capabilities }: Server, type: string): boolean {
  return (
    hasIdentifier(type) &&
    capabilities.keepsMarkers(type) &&
    capabilities.interactions(type).has('search-type') &&
    capabilities.searchParams(type).has('identifier')
  );
}

/**
 * The record that a lost create may have stored. That there is none counts only on a server that was seen to keep
 * markers of this type: otherwise a record that lost its marker would be created a second time.
 */
export async function findCreated<T extends fhir.FhirResource>(
  server: Server,
  type: T['resourceType'],
  marker: string,
): Promise<T | undefined> {
  const record = await findByMarker<T>(server, type, marker);
  if (!record && !(await provesMarkers(server, type))) throw unproven();
  return record;
}

/** The failure if it cannot be determined whether a lost create arrived. */
export function unproven(): EmrFailure {
  return new EmrFailure('unknown_outcome', 'The EMR has not yet shown that it keeps our markers.', { undecided: true });
}

/**
 * The record with our marker. The results are checked, because some servers ignore a parameter and return everything.
 */
export async function findByMarker<T extends fhir.FhirResource>(
  server: Server,
  type: T['resourceType'],
  marker: string,
): Promise<T | undefined> {
  if (!canFind(server, type)) throw new EmrFailure('unknown_outcome', 'The EMR cannot be searched for the record.');
  for await (const { matches } of search<T>(server, type, { identifier: markerValue(marker) })) {
    const record = matches.find((match) => readMarkers(match).includes(marker));
    if (record) {
      // The search succeeded even if this fails. It is then recorded with the next one.
      await recordMarked(server, type, marker).catch(() => {});
      return record;
    }
    if (matches.length > 0) {
      throw new EmrFailure('unknown_outcome', 'The EMR does not find records by their identifier.');
    }
  }
  return undefined;
}

/**
 * Reads the stored record if the response to the write did not contain it. Until it is read, the outcome is unknown.
 * `accepted`: the server has confirmed the write.
 */
export async function readBack<T extends fhir.FhirResource>(
  server: Server,
  {
    type,
    id,
    marker,
    accepted = false,
  }: { type: T['resourceType']; id: string | undefined; marker: string; accepted?: boolean },
): Promise<T> {
  try {
    const record = await (id === undefined ? findByMarker<T>(server, type, marker) : read<T>(server, type, id));
    if (record) return record;
  } catch (error) {
    if (!(error instanceof EmrFailure)) throw error;
    // Includes login_required.
    throw new EmrFailure('unknown_outcome', error.message, { accepted, cause: error });
  }
  throw new EmrFailure('unknown_outcome', 'The EMR did not confirm what it stored.', { accepted });
}

/** The stored record, if the server confirmed it. */
async function confirm<T extends fhir.FhirResource>(
  server: Server,
  response: FhirResponse,
  { sent, marker, conditional }: { sent: T; marker: string; conditional: boolean },
): Promise<T> {
  const type: T['resourceType'] = sent.resourceType;
  if (response.status >= 400) throw await toWriteRefusal(server, type, 'create', response);
  const returned = isRecord<T>(response.resource, type) ? response.resource : undefined;
  const stored = returned && isComplete(returned) ? returned : await readCreated(server, sent, response, marker);
  // The server returned an existing record. If it ignores our condition, that may be any record.
  if (conditional && response.status !== 201 && !readMarkers(stored).includes(marker)) {
    throw new EmrFailure('unknown_outcome', 'The EMR returned a different record than the one sent.');
  }
  // The record is stored even if this fails. It is then noted with the next record.
  await recordMarking(server, stored, marker).catch(() => {});
  return stored;
}

/**
 * Reads the record that the server confirmed without returning it. Some servers name its id in a body of their own
 * format; such an id counts if the record with it is the one that was sent.
 */
async function readCreated<T extends fhir.FhirResource>(
  server: Server,
  sent: T,
  response: FhirResponse,
  marker: string,
): Promise<T> {
  const type: T['resourceType'] = sent.resourceType;
  const id =
    (isRecord<T>(response.resource, type) ? response.resource.id : undefined) ?? readLocationId(response, type);
  // No proxy sends 201. A server that sends it and then does not find the record does not keep markers.
  const accepted = response.status === 201;
  for (const named_id of id === undefined ? response.named_ids : []) {
    const record = await readBack<T>(server, { type, id: named_id, marker, accepted }).catch((error: unknown) => {
      if (error instanceof EmrFailure && error.cause === undefined) return undefined;
      throw error;
    });
    if (record && (readMarkers(record).includes(marker) || isSameRecord(sent, record))) return record;
  }
  return readBack<T>(server, { type, id, marker, accepted });
}

/**
 * Some servers drop identifiers they do not know. They would find nothing after every lost create, which would look
 * like "not created", so such a type counts as not searchable. Other servers keep the marker but omit it from the
 * response. Only a search shows it, once per type.
 */
async function recordMarking(server: Server, stored: fhir.FhirResource, marker: string): Promise<void> {
  const type = stored.resourceType;
  if (!canFind(server, type) || server.facts.marked?.includes(type)) return;
  const is_found = (await findByMarker(server, type, marker)) !== undefined;
  // A new record may take a while to be found. One that came back without the marker has lost it.
  if (!is_found && !readMarkers(stored).includes(marker)) await server.learn(({ unmarked }) => unmarked?.push(type));
}

/** Records for this account, and for others at this address, that a record was found by its marker. */
async function recordMarked(server: Server, type: string, marker: string): Promise<void> {
  if (server.facts.marked?.includes(type)) return;
  await server.learn((facts) => {
    facts.marked = [...(facts.marked ?? []), type];
  });
  await server.shared_markers?.store(type, marker);
}

/** Identifier system of our markers: one for the write that created the record, and those of the latest updates. */
export const marker_system = 'urn:chartwire:marker';

/**
 * Appends our marker. The first marker is kept, so that a lost create is found even after later changes; of the
 * updates, as many as can be in progress for one record.
 */
export function withMarker<T extends fhir.FhirResource>(resource: T, marker: string): T {
  if (!hasIdentifier(resource.resourceType)) return resource;
  const [first, ...later] = readMarkers(resource);
  if (first === marker || later.includes(marker)) return resource;
  const others = readIdentifiers(resource).filter(({ system }) => system !== marker_system);
  const markers = [...(first === undefined ? [] : [first]), ...later.slice(2 - markers_max), marker];
  return { ...resource, identifier: [...others, ...markers.map((value) => ({ system: marker_system, value }))] };
}

/** Each account of a practice has its own lane to a record. More than this are not in progress at once. */
const markers_max = 6;

export function readMarkers(resource: fhir.FhirResource): string[] {
  return readIdentifiers(resource)
    .filter(({ system }) => system === marker_system)
    .map(({ value }) => value ?? '');
}

function readIdentifiers(resource: fhir.FhirResource): fhir.Identifier[] {
  const { identifier } = resource as { identifier?: unknown };
  return Array.isArray(identifier) ? identifier.filter((each) => typeof each === 'object' && each !== null) : [];
}

function hasIdentifier(type: string): boolean {
  return type !== 'Binary';
}

function markerValue(marker: string): string {
  return `${marker_system}|${searchValue(marker)}`;
}

/** How far the server's clock may be off, and how long a create may take. */
export const clock_tolerance_ms = 15 * 60_000;

/**
 * Whether a stored record without our marker is the one that was just sent: a new one, of the same person. A patient is
 * compared by name and birth date, any other record by its patients.
 */
function isSameRecord(sent: fhir.FhirResource, stored: fhir.FhirResource): boolean {
  if (isOlderThan(stored, Date.now() - clock_tolerance_ms)) return false;
  if (sent.resourceType === 'Patient' && stored.resourceType === 'Patient') return isSamePerson(sent, stored);
  const [ours, theirs] = [findPatientReferences(sent), findPatientReferences(stored)];
  return ours.length > 0 && ours.join() === theirs.join();
}

/** Whether a record says that it was stored before an instant. */
export function isOlderThan({ meta }: fhir.FhirResource, instant_ms: number): boolean {
  return Date.parse(meta?.lastUpdated ?? '') < instant_ms;
}

function isSamePerson(one: fhir.Patient, other: fhir.Patient): boolean {
  const [ours, theirs] = [readName(one.name), readName(other.name)];
  const isSame = (a: string | null, b: string | null) => fold(a ?? '') === fold(b ?? '');
  return isSame(ours.first, theirs.first) && isSame(ours.last, theirs.last) && one.birthDate === other.birthDate;
}

function findPatientReferences(resource: fhir.FhirResource): string[] {
  const references = JSON.stringify(resource).match(/"Patient\/[A-Za-z0-9.-]{1,64}"/g) ?? [];
  return [...new Set(references)].sort();
}
