import type * as fhir from 'fhir/r4.js';
import { EmrFailure } from '../../connector.ts';
import { type FhirResponse, rejection, unreadable_response } from './call.ts';
import { type Server, urlOf } from './search.ts';

export async function read<T extends fhir.FhirResource>(
  server: Server,
  type: T['resourceType'],
  id: string,
): Promise<T | undefined> {
  return (await readVersion<T>(server, type, id))?.resource;
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

/** Values for `If-Match`: the standard form first, then the server's own header. */
export type Version<T> = { resource: T; matches: string[] };

export async function readVersion<T extends fhir.FhirResource>(
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

export function isRecord<T extends fhir.FhirResource>(
  resource: fhir.FhirResource | undefined,
  type: T['resourceType'],
): resource is T & { id: string } {
  return resource?.resourceType === type && typeof resource.id === 'string' && resource.id !== '';
}

/** Some servers return only the id and the version of what they stored. */
export function isComplete(resource: fhir.FhirResource): boolean {
  return Object.keys(resource).some((name) => !['resourceType', 'id', 'meta', 'text'].includes(name));
}

/** The id in `Location: [base]/Patient/123/_history/1`. The URL itself is not used. */
export function refId({ headers }: FhirResponse, type: string): string | undefined {
  const path = (headers.location ?? headers['content-location'] ?? '').split(/[?#]/)[0] ?? '';
  const id = new RegExp(`(?:^|/)${type}/([A-Za-z0-9.-]{1,64})(?:/_history/[^/]+)?/?$`).exec(path)?.[1];
  return id;
}
