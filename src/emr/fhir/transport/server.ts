import type * as fhir from 'fhir/r4.js';
import type { SharedMarkers } from '../../connector.ts';
import { EmrFailure } from '../../emrFailure.ts';
import {
  type FhirRequest,
  type FhirResponse,
  isTransient,
  readIssues,
  toRejection,
  unreadable_response,
} from './call.ts';
import type { Capabilities, ParamFindings, ServerFacts } from './capabilities.ts';

export type SendRequest = (request: FhirRequest) => Promise<FhirResponse>;
/** A server, used as the person who linked the account. */
export type Server = {
  base: URL;
  request: SendRequest;
  capabilities: Capabilities;
  facts: ServerFacts;
  /** Nothing is written: records are validated where the server can. */
  dry_run: boolean;
  /** Changes what is known about the server, and stores it with the account. */
  learn: (change: (facts: ServerFacts) => void) => Promise<void>;
  shared_markers: SharedMarkers | undefined;
  /** Stores with the account which search parameters of this type work. */
  recordParams: (type: string, findings: ParamFindings) => Promise<void>;
  /** Probes the search parameters of a type, at most once per opened account. Throws if the server does not respond. */
  probeType: (type: string) => Promise<void>;
};
/** What a single search request needs. */
export type SearchServer = Pick<Server, 'base' | 'request'> & {
  capabilities: Pick<Capabilities, 'searches_by_form'>;
};

/** The URL of a type, a record, or a path below it. */
export function buildUrl(base: URL, ...path: string[]): URL {
  return new URL(`${base.href.replace(/\/$/, '')}/${path.map(encodeURIComponent).join('/')}`);
}

export async function read<T extends fhir.FhirResource>(
  server: Server,
  type: T['resourceType'],
  id: string,
): Promise<T | undefined> {
  return (await readVersion<T>(server, type, id))?.resource;
}

/**
 * Stores a file as it is, which servers accept in larger sizes than embedded in JSON. Returns the id of the Binary. FHIR
 * gives a Binary no identifier, so it has no marker and cannot be found: a lost response means sending it again.
 */
export async function createBinary(
  server: Server,
  file: { content: Buffer; type: string; patient_ehr_id: string },
): Promise<string> {
  const response = await server.request({
    method: 'POST',
    url: buildUrl(server.base, 'Binary'),
    headers: { 'content-type': file.type, 'x-security-context': `Patient/${file.patient_ehr_id}` },
    body: file.content,
  });
  if (response.status >= 400) throw toRejection(response, 'Binary');
  const id = isRecord<fhir.Binary>(response.resource, 'Binary')
    ? response.resource.id
    : readLocationId(response, 'Binary');
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
  const response = await request({ method: 'GET', url: buildUrl(base, type, id) });
  if (response.status === 404 || response.status === 410 || isRejectedId(response)) return undefined;
  if (response.status >= 400) throw toRejection(response, type);
  if (!isRecord<T>(response.resource, type)) throw new EmrFailure('unavailable', unreadable_response);
  const { versionId: stated = '' } = response.resource.meta ?? {};
  const versionId = isId(stated) ? stated : undefined;
  const { etag } = response.headers;
  const forms = [versionId && `W/"${versionId}"`, etag, versionId && `"${versionId}"`];
  return { resource: response.resource, matches: [...new Set(forms.filter((form) => typeof form === 'string'))] };
}

/** 400 in a format of its own, by which some servers reject an id that no record of theirs can have. */
function isRejectedId({ status, resource, validation_errors }: FhirResponse): boolean {
  return status === 400 && resource === undefined && validation_errors;
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
export function readLocationId({ headers }: FhirResponse, type: string): string | undefined {
  const path = (headers.location ?? headers['content-location'] ?? '').split(/[?#]/)[0] ?? '';
  const id = new RegExp(`(?:^|/)${type}/([A-Za-z0-9.-]{1,64})(?:/_history/[^/]+)?/?$`).exec(path)?.[1];
  return id;
}

/**
 * Statuses by which a server refuses an interaction as a whole. The records that a write refers to were read before, so
 * a 403 or 404 is not about one of them.
 */
const whole_refusals = new Set([403, 404, 405, 501]);

/** The meaning of a rejected write. A refusal of the whole interaction is remembered. */
export async function toWriteRefusal(
  server: Server,
  type: string,
  interaction: 'create' | 'update',
  response: FhirResponse,
): Promise<EmrFailure> {
  if (whole_refusals.has(response.status)) return recordRefusal(server, type, interaction, response.status);
  const failure = toRejection(response, type);
  if (interaction === 'update' || failure.code !== 'record_changed') return failure;
  // A new record has no version that somebody else could have changed.
  return new EmrFailure('refused', failure.message, { cause: failure });
}

/**
 * Whether a create was rejected because of another request at the same time. An appointment that conflicts with another
 * one is not: its time is taken. Neither is a duplicate.
 */
export function isCollision({ status, resource }: FhirResponse, type: string): boolean {
  if (status < 400) return false;
  const outcome = resource?.resourceType === 'OperationOutcome' ? resource : undefined;
  if (isTransient(outcome)) return true;
  if ((status !== 409 && status !== 412) || type === 'Appointment') return false;
  return readIssues(outcome).every((issue) => collision_codes.has(issue?.code));
}

/** What servers send with a 409 that says no more. */
const collision_codes = new Set<string | undefined>(['conflict', 'exception', 'processing', undefined]);

async function recordRefusal(
  server: Server,
  type: string,
  interaction: 'create' | 'update',
  status: number,
): Promise<EmrFailure> {
  await server.learn((facts) => {
    facts.refused = {
      ...facts.refused,
      [type]: { ...facts.refused?.[type], [interaction]: { status, at_ms: Date.now() } },
    };
  });
  const what = interaction === 'create' ? `new ${type} records` : `changes to ${type} records`;
  const [message, code] =
    status === 403
      ? ([`The server does not allow this account to send ${what}.`, 'not_permitted'] as const)
      : ([`The server does not accept ${what} (${status}).`, 'not_supported'] as const);
  return new EmrFailure('refused', message, { code, not_offered: true });
}

/**
 * An update that the server answered with 500 without storing it. It is retried; after a minute without a single success
 * the server does not support updates of this type.
 */
export async function recordFailedUpdate(server: Server, type: string): Promise<EmrFailure> {
  const failing = server.facts.failing_updates?.[type] ?? { since_ms: Date.now(), count: 0 };
  if (failing.count + 1 >= failing_min && Date.now() - failing.since_ms >= failing_min_ms) {
    return recordRefusal(server, type, 'update', 500);
  }
  await server.learn((facts) => {
    facts.failing_updates = { ...facts.failing_updates, [type]: { ...failing, count: failing.count + 1 } };
  });
  return new EmrFailure('unavailable', server_error);
}

export const server_error = 'The EMR responded with an error (500).';
const failing_min = 3;
const failing_min_ms = 60_000;
