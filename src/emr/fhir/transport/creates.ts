import { setTimeout as wait } from 'node:timers/promises';
import type * as fhir from 'fhir/r4.js';
import { EmrFailure } from '../../connector.ts';
import type { FhirResponse } from './call.ts';
import { hasIdentifier, markersOf, markerValue, withMarker } from './markers.ts';
import { isCollision, refusal } from './refusals.ts';
import { isComplete, isRecord, read, refId } from './resources.ts';
import { isSameRecord } from './sameRecord.ts';
import { type Server, search, urlOf } from './search.ts';

/**
 * Creates a record. A create that collided with another request stored nothing, so it is sent again, after a look for
 * what an earlier attempt may have stored.
 */
export async function create<T extends fhir.FhirResource>(server: Server, resource: T, marker: string): Promise<T> {
  const type: T['resourceType'] = resource.resourceType;
  const conditional = server.capabilities.conditionalCreate(type) && hasIdentifier(type);
  for (let attempt = 1; ; attempt++) {
    const response = await server.request({
      method: 'POST',
      url: urlOf(server.base, type),
      headers: {
        prefer: 'return=representation',
        ...(conditional && { 'if-none-exist': `identifier=${markerValue(marker)}` }),
      },
      body: withMarker(resource, marker),
      writes: true,
    });
    // Several records have the marker already. The first one counts.
    if (response.status === 412 && conditional) return readBack<T>(server, type, undefined, marker);
    if (!isCollision(response, type)) return confirm(server, resource, response, marker, conditional);
    const present = canFind(server, type) ? await findByMarker<T>(server, type, marker) : undefined;
    if (present) return present;
    if (attempt === create_attempts_max) throw await refusal(server, type, 'create', response);
    await wait(attempt * collision_pause_ms);
  }
}

const create_attempts_max = 3;
/** A transaction that another one collided with takes some milliseconds. */
const collision_pause_ms = 100;

/** The stored record, if the server confirmed it. */
async function confirm<T extends fhir.FhirResource>(
  server: Server,
  sent: T,
  response: FhirResponse,
  marker: string,
  conditional: boolean,
): Promise<T> {
  const type: T['resourceType'] = sent.resourceType;
  if (response.status >= 400) throw await refusal(server, type, 'create', response);
  const returned = isRecord<T>(response.resource, type) ? response.resource : undefined;
  const stored = returned && isComplete(returned) ? returned : await readCreated(server, sent, response, marker);
  // Found instead of created. If the server ignores our condition, it may be any record.
  if (conditional && response.status !== 201 && !markersOf(stored).includes(marker)) {
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
  const id = (isRecord<T>(response.resource, type) ? response.resource.id : undefined) ?? refId(response, type);
  // No proxy sends 201. A server that sends it and then does not find the record does not keep markers.
  const accepted = response.status === 201;
  for (const named of id === undefined ? response.named_ids : []) {
    const record = await readBack<T>(server, type, named, marker, accepted).catch((error: unknown) => {
      if (error instanceof EmrFailure && error.cause === undefined) return undefined;
      throw error;
    });
    if (record && (markersOf(record).includes(marker) || isSameRecord(sent, record))) return record;
  }
  return readBack<T>(server, type, id, marker, accepted);
}

/**
 * Some servers drop identifiers they do not know. They would find nothing after every lost create, which would look
 * like "not created", so such a type counts as not searchable. Other servers keep the marker but omit it from the
 * response. Only a search shows it, once per type.
 */
async function recordMarking(server: Server, stored: fhir.FhirResource, marker: string): Promise<void> {
  const type = stored.resourceType;
  if (!canFind(server, type) || server.facts.marked?.includes(type)) return;
  const found = await findByMarker(server, type, marker);
  // A new record may take a while to be found. One that came back without the marker has lost it.
  if (!found && !markersOf(stored).includes(marker)) await server.learn(({ unmarked }) => unmarked?.push(type));
}

/** Records for this account, and for others at this address, that a record was found by its marker. */
async function recordMarked(server: Server, type: string, marker: string): Promise<void> {
  if (server.facts.marked?.includes(type)) return;
  await server.learn((facts) => {
    facts.marked = [...(facts.marked ?? []), type];
  });
  await server.shared_markers?.store(type, marker);
}

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
  const found = await findByMarker<T>(server, type, marker);
  if (!found && !(await provesMarkers(server, type))) {
    throw unproven();
  }
  return found;
}

/** Nothing shows whether a lost create arrived. */
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
    const found = matches.find((match) => markersOf(match).includes(marker));
    if (found) {
      // Whoever searched has its record even if this fails. It is then recorded with the next one.
      await recordMarked(server, type, marker).catch(() => {});
      return found;
    }
    if (matches.length > 0) {
      throw new EmrFailure('unknown_outcome', 'The EMR does not find records by their identifier.');
    }
  }
  return undefined;
}

/**
 * Reads the stored record if the response to the write did not contain it. Until it is read, the outcome is unknown.
 */
export async function readBack<T extends fhir.FhirResource>(
  server: Server,
  type: T['resourceType'],
  id: string | undefined,
  marker: string,
  accepted = false,
): Promise<T> {
  try {
    const found = await (id === undefined ? findByMarker<T>(server, type, marker) : read<T>(server, type, id));
    if (found) return found;
  } catch (error) {
    if (!(error instanceof EmrFailure)) throw error;
    // Includes login_required.
    throw new EmrFailure('unknown_outcome', error.message, { accepted, cause: error });
  }
  throw new EmrFailure('unknown_outcome', 'The EMR did not confirm what it stored.', { accepted });
}
