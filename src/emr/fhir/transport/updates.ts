import type * as fhir from 'fhir/r4.js';
import { createPatch } from 'rfc6902';
import { EmrFailure } from '../../emrFailure.ts';
import { type FhirRequest, noSuchRecord } from './call.ts';
import { readBack, readMarkers, withMarker } from './creates.ts';
import {
  buildUrl,
  isComplete,
  isRecord,
  readVersion,
  recordFailedUpdate,
  type Server,
  server_error,
  toWriteRefusal,
  type Version,
} from './server.ts';
import { validate } from './validation.ts';

/**
 * Updates a record without overwriting concurrent changes: the update is tied to the version it is based on, and
 * repeated on the newest version after a conflict. Sends the whole record, or what changes in it, as the server expects.
 */
export async function update<T extends fhir.FhirResource>(
  server: Server,
  {
    type,
    id,
    change,
    marker,
  }: { type: T['resourceType']; id: string; change: (current: T, first: T) => T; marker: string },
): Promise<{ before: T; after: T }> {
  if (!server.capabilities.versionedUpdate(type)) throw versionRequired();
  let first: T | undefined;
  let refused: string | undefined;
  const patches = server.capabilities.patches(type);
  let bare = server.facts.bare_updates?.includes(type) ?? false;
  for (let attempt = 0; attempt < update_attempts_max; attempt++) {
    const current = await readVersion<T>(server, type, id);
    if (!current) throw noSuchRecord(type);
    first ??= current.resource;
    const match = current.matches.find((each) => each !== refused) ?? current.matches[0];
    if (match === undefined) throw versionRequired();
    const whole = withMarker(change(structuredClone(current.resource), first), marker);
    if (server.dry_run) {
      await validate(server, whole, 'update');
      return { before: current.resource, after: whole };
    }
    const reduced = withoutGenerated(whole, current.resource);
    const sent = patches ? patch(current.resource, whole) : put(bare ? reduced : whole);
    const response = await server.request({
      ...sent,
      url: buildUrl(server.base, type, id),
      headers: { ...sent.headers, prefer: 'return=representation', 'if-match': match },
      writes: true,
      returns_500: true,
    });
    if (response.status === 409 || response.status === 412) {
      refused = match;
      continue;
    }
    if (response.status === 500) {
      const after = await storedDespiteError(server, current, marker);
      if (after) return { before: current.resource, after };
      if (bare || patches || JSON.stringify(reduced) === JSON.stringify(whole))
        throw await recordFailedUpdate(server, type);
      bare = true;
      continue;
    }
    // Deleted since it was read.
    if (response.status === 404 && !(await readVersion<T>(server, type, id))) throw noSuchRecord(type);
    if (response.status >= 400) throw await toWriteRefusal(server, type, 'update', response);
    if (bare) await recordBareUpdate(server, type);
    if (server.facts.failing_updates?.[type]) await server.learn((facts) => delete facts.failing_updates?.[type]);
    const returned = isRecord<T>(response.resource, type) ? response.resource : undefined;
    if (returned && isComplete(returned)) return { before: current.resource, after: returned };
    const after = await readBack<T>(server, { type, id, marker });
    // The record existed before: only our marker shows that the response came from the server and not from a proxy.
    if (returned || readMarkers(after).includes(marker)) return { before: current.resource, after };
    throw new EmrFailure('unknown_outcome', 'The EMR did not confirm what it stored.');
  }
  throw new EmrFailure('unavailable', 'The record keeps changing in the EMR.');
}

const update_attempts_max = 3;

type Sent = Pick<FhirRequest, 'method' | 'body' | 'headers'>;

function put(resource: fhir.FhirResource): Sent {
  return { method: 'PUT', body: resource };
}

/** JSON Patch (RFC 6902). What the server maintains itself is left out. */
function patch(current: fhir.FhirResource, next: fhir.FhirResource): Sent {
  const operations = createPatch(withoutOwn(current), withoutOwn(next));
  return {
    method: 'PATCH',
    headers: { 'content-type': 'application/json-patch+json' },
    body: Buffer.from(JSON.stringify(operations)),
  };
}

function withoutOwn(resource: fhir.FhirResource): object {
  const { meta: _meta, text: _text, ...rest } = resource as fhir.DomainResource;
  return rest;
}

/**
 * Some servers respond with 500 to every update, others to one that they stored. The record is read again: the outcome is
 * unknown only if somebody changed it and our marker is missing. Returns undefined if nothing was stored.
 */
async function storedDespiteError<T extends fhir.FhirResource>(
  server: Server,
  { resource, matches }: Version<T>,
  marker: string,
): Promise<T | undefined> {
  const type: T['resourceType'] = resource.resourceType;
  const after = await readVersion<T>(server, type, resource.id ?? '').catch((error: unknown) => {
    if (!(error instanceof EmrFailure)) throw error;
    throw new EmrFailure('unknown_outcome', error.message, { cause: error });
  });
  if (after && readMarkers(after.resource).includes(marker)) return after.resource;
  if (after?.matches[0] !== matches[0]) throw new EmrFailure('unknown_outcome', server_error);
  return undefined;
}

/**
 * The record without what the server itself added to the version that was read, as long as nobody changed it: its
 * narrative, and the periods of names, addresses, identifiers and contact points. Some servers fail on their own values.
 */
function withoutGenerated<T extends fhir.FhirResource>(changed: T, current: T): T {
  // Every element of a resource is optional here.
  const [next, before] = [{ ...changed } as Record<string, unknown>, current as unknown as Record<string, unknown>];
  if (JSON.stringify(next.text) === JSON.stringify(before.text)) delete next.text;
  for (const field of dated_fields) {
    const periods_before = new Set(filterObjects(before[field]).map(({ period }) => JSON.stringify(period)));
    if (!Array.isArray(next[field])) continue;
    next[field] = filterObjects(next[field]).map(({ period, ...item }) =>
      period === undefined || periods_before.has(JSON.stringify(period)) ? item : { ...item, period },
    );
  }
  // Only optional elements were removed.
  return next as unknown as T;
}

const dated_fields = ['identifier', 'name', 'telecom', 'address'];

function filterObjects(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'object' && each !== null) : [];
}

async function recordBareUpdate(server: Server, type: string): Promise<void> {
  if (server.facts.bare_updates?.includes(type)) return;
  await server.learn((facts) => {
    facts.bare_updates = [...(facts.bare_updates ?? []), type];
  });
}

function versionRequired(): EmrFailure {
  const message = 'The EMR keeps no versions, so an update could overwrite a concurrent change.';
  return new EmrFailure('refused', message, { code: 'not_supported' });
}
