import type * as fhir from 'fhir/r4.js';
import { EmrFailure } from '../../connector.ts';
import { type FhirResponse, noSuchRecord, rejection, unreadable_response } from './call.ts';
import { hasIdentifier, markersOf, markerValue, withMarker } from './markers.ts';
import { failedUpdate, refusal, server_error } from './refusals.ts';
import { type Server, search, urlOf } from './search.ts';

export async function read<T extends fhir.FhirResource>(
  server: Server,
  type: T['resourceType'],
  id: string,
): Promise<T | undefined> {
  return (await readVersion<T>(server, type, id))?.resource;
}

export async function create<T extends fhir.FhirResource>(server: Server, resource: T, marker: string): Promise<T> {
  const type = resource.resourceType;
  const conditional = server.capabilities.conditionalCreate(type) && hasIdentifier(type);
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
  if (response.status >= 400) throw await refusal(server, type, 'create', response);
  const returned = isRecord<T>(response.resource, type) ? response.resource : undefined;
  const id = returned?.id ?? refId(response, type);
  // No proxy sends 201. A server that sends it and then does not find the record does not keep markers.
  const accepted = response.status === 201;
  const stored = returned && isComplete(returned) ? returned : await readBack<T>(server, type, id, marker, accepted);
  // Found instead of created. If the server ignores our condition, it may be any record.
  if (conditional && response.status !== 201 && !markersOf(stored).includes(marker)) {
    throw new EmrFailure('unknown_outcome', 'The EMR returned a different record than the one sent.');
  }
  // The record is stored even if this fails. It is then noted with the next record.
  await recordMarking(server, stored, marker).catch(() => {});
  return stored;
}

/**
 * Stores a file as it is, which servers take in larger sizes than embedded in JSON. Returns the id of the Binary. FHIR
 * gives a Binary no identifier, so it has no marker and cannot be found: a lost response means sending it again.
 */
export async function createBinary(
  server: Server,
  file: { content: Buffer; type: string; patient_ehr_id: string },
): Promise<string> {
  const response = await server.request({
    method: 'POST',
    url: urlOf(server.base, 'Binary'),
    headers: { 'content-type': file.type, 'x-security-context': `Patient/${file.patient_ehr_id}` },
    body: file.content,
  });
  if (response.status >= 400) throw rejection(response, 'Binary');
  const id = isRecord<fhir.Binary>(response.resource, 'Binary') ? response.resource.id : refId(response, 'Binary');
  if (id === undefined) throw new EmrFailure('refused', 'The EMR did not confirm the file.', { code: 'emr_refused' });
  return id;
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
  if (found) await recordMarked(server, type);
  // A new record may take a while to be found. One that came back without the marker has lost it.
  else if (!markersOf(stored).includes(marker)) await server.learn(({ unmarked }) => unmarked?.push(type));
}

async function recordMarked(server: Server, type: string): Promise<void> {
  if (server.facts.marked?.includes(type)) return;
  await server.learn((facts) => {
    facts.marked = [...(facts.marked ?? []), type];
  });
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
  if (found) await recordMarked(server, type);
  else if (!server.facts.marked?.includes(type)) {
    throw new EmrFailure('unknown_outcome', 'The EMR has not yet shown that it keeps our markers.');
  }
  return found;
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
    if (found) return found;
    if (matches.length > 0) {
      throw new EmrFailure('unknown_outcome', 'The EMR does not find records by their identifier.');
    }
  }
  return undefined;
}

/**
 * Updates a record without overwriting concurrent changes: the update is tied to the version it is based on, and
 * repeated on the newest version after a conflict.
 */
export async function update<T extends fhir.FhirResource>(
  server: Server,
  type: T['resourceType'],
  id: string,
  change: (current: T, first: T) => T,
  marker: string,
): Promise<{ before: T; after: T }> {
  if (!server.capabilities.versionedUpdate(type)) throw unversioned();
  let first: T | undefined;
  let refused: string | undefined;
  for (let attempt = 0; attempt < update_attempts_max; attempt++) {
    const current = await readVersion<T>(server, type, id);
    if (!current) throw noSuchRecord(type);
    first ??= current.resource;
    const match = current.matches.find((each) => each !== refused) ?? current.matches[0];
    if (match === undefined) throw unversioned();
    const changed = withMarker(change(structuredClone(current.resource), first), marker);
    const response = await server.request({
      method: 'PUT',
      url: urlOf(server.base, type, id),
      headers: { prefer: 'return=representation', 'if-match': match },
      body: changed,
      writes: true,
      returns_500: true,
    });
    if (response.status === 409 || response.status === 412) {
      refused = match;
      continue;
    }
    if (response.status === 500) {
      return { before: current.resource, after: await storedDespiteError(server, current, marker) };
    }
    // Deleted since it was read.
    if (response.status === 404 && !(await readVersion<T>(server, type, id))) throw noSuchRecord(type);
    if (response.status >= 400) throw await refusal(server, type, 'update', response);
    if (server.facts.failing_updates?.[type]) await server.learn((facts) => delete facts.failing_updates?.[type]);
    const returned = isRecord<T>(response.resource, type) ? response.resource : undefined;
    if (returned && isComplete(returned)) return { before: current.resource, after: returned };
    const after = await readBack<T>(server, type, id, marker);
    // The record existed before: only our marker shows that the response came from the server and not from a proxy.
    if (returned || markersOf(after).includes(marker)) return { before: current.resource, after };
    throw new EmrFailure('unknown_outcome', 'The EMR did not confirm what it stored.');
  }
  throw new EmrFailure('unavailable', 'The record keeps changing in the EMR.');
}

const update_attempts_max = 3;

/**
 * Some servers respond to every update with 500, others to one that they stored. The record is read again: the outcome
 * is unknown only if somebody changed it and our marker is missing.
 */
async function storedDespiteError<T extends fhir.FhirResource>(
  server: Server,
  { resource, matches }: Version<T>,
  marker: string,
): Promise<T> {
  const type: T['resourceType'] = resource.resourceType;
  const after = await readVersion<T>(server, type, resource.id ?? '').catch((error: unknown) => {
    if (!(error instanceof EmrFailure)) throw error;
    throw new EmrFailure('unknown_outcome', error.message, { cause: error });
  });
  if (after && markersOf(after.resource).includes(marker)) return after.resource;
  if (after?.matches[0] !== matches[0]) throw new EmrFailure('unknown_outcome', server_error);
  throw await failedUpdate(server, type);
}

function unversioned(): EmrFailure {
  const message = 'The EMR keeps no versions, so an update could overwrite a concurrent change.';
  return new EmrFailure('refused', message, { code: 'not_supported' });
}

/** Values for `If-Match`: the standard form first, then the server's own header. */
type Version<T> = { resource: T; matches: string[] };

async function readVersion<T extends fhir.FhirResource>(
  { base, request }: Server,
  type: T['resourceType'],
  id: string,
): Promise<Version<T> | undefined> {
  // An id of dots would change the path. No server has such an id.
  if (!isId(id)) return undefined;
  const response = await request({ method: 'GET', url: urlOf(base, type, id) });
  if (response.status === 404 || response.status === 410) return undefined;
  if (response.status >= 400) throw rejection(response, type);
  if (!isRecord<T>(response.resource, type)) throw new EmrFailure('unavailable', unreadable_response);
  const { versionId: stated = '' } = response.resource.meta ?? {};
  const versionId = isId(stated) ? stated : undefined;
  const { etag } = response.headers;
  const forms = [versionId && `W/"${versionId}"`, etag, versionId && `"${versionId}"`];
  return { resource: response.resource, matches: [...new Set(forms.filter((form) => typeof form === 'string'))] };
}

function isId(text: unknown): boolean {
  return typeof text === 'string' && /^(?!\.+$)[\w.~-]{1,256}$/.test(text);
}

function isRecord<T extends fhir.FhirResource>(
  resource: fhir.FhirResource | undefined,
  type: T['resourceType'],
): resource is T & { id: string } {
  return resource?.resourceType === type && typeof resource.id === 'string' && resource.id !== '';
}

/** Some servers return only the id and the version of what they stored. */
function isComplete(resource: fhir.FhirResource): boolean {
  return Object.keys(resource).some((name) => !['resourceType', 'id', 'meta', 'text'].includes(name));
}

/** The id in `Location: [base]/Patient/123/_history/1`. The URL itself is not used. */
function refId({ headers }: FhirResponse, type: string): string | undefined {
  const path = (headers.location ?? headers['content-location'] ?? '').split(/[?#]/)[0] ?? '';
  const id = new RegExp(`(?:^|/)${type}/([A-Za-z0-9.-]{1,64})(?:/_history/[^/]+)?/?$`).exec(path)?.[1];
  return id;
}

/**
 * Reads the stored record if the response to the write did not contain it. Until it is read, the outcome is unknown.
 */
async function readBack<T extends fhir.FhirResource>(
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
