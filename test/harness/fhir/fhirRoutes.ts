import { badRequest, getStatus, normalizeOperationOutcome, notFound, preconditionFailed } from '@medplum/core';
import { FhirRouter, type FhirRequest as RouterRequest } from '@medplum/fhir-router';
import type { OperationOutcome, Parameters, Resource, Slot } from '@medplum/fhirtypes';
import { applyPatch, type Operation } from 'rfc6902';

import { isPatched, listInteractions } from './capabilityStatement.ts';
import { type FaultSwitches, fault_responses, type HttpResponse, type Interaction } from './faults.ts';
import { bookOffer, findOffers, type Turns } from './offers.ts';
import type { CheckedRepository } from './repository.ts';
import type { Searches } from './searches.ts';
import { vendors } from './vendors/vendors.ts';

export type FhirRequest = {
  method: string;
  /** Below the base: `Patient/1?_format=json`. */
  path: string;
  headers: Record<string, string | undefined>;
  body: Buffer;
};

export type Store = {
  repo: CheckedRepository;
  searches: Searches;
  faults: FaultSwitches;
  base: string;
  /** Creates in progress. */
  creating: number;
  /** Writes in progress, and the most that there were. */
  writing: { now: number; most: number };
  /** Bookings of offers take turns. */
  offers: Turns;
  /** Requests of the current minute, for vendors that count them. */
  minute: { starts_ms: number; requests: number };
};

const router = new FhirRouter();

/** Handles one authorized FHIR request. Medplum performs it; this folder implements HTTP. */
export async function handleFhirRequest(store: Store, request: FhirRequest): Promise<HttpResponse> {
  const url = new URL(request.path, `${store.base}/`);
  const [type = '', id] = request.path.split('?')[0]?.split('/') ?? [];
  const vendor = store.faults.vendor && vendors[store.faults.vendor];
  if (type === '' && url.searchParams.has('_getpages')) return pageResponse(store, url.searchParams);
  const page = vendor && url.searchParams.get(vendor.page_param);
  if (page?.startsWith('_getpages')) {
    const missing = type === '' ? undefined : missingConstant(store.faults, url.searchParams);
    return missing ? refused(badRequest(missing)) : pageResponse(store, new URLSearchParams(page));
  }
  const interaction = findInteraction(request.method, id);
  if (id === '_search' && store.faults.search_by_form === 'unknown') return outcome(405, 'not-supported');
  if (id === '_search' && store.faults.search_by_form === 'unheard') {
    return json(200, { resourceType: 'Bundle', type: 'searchset', total: 0 });
  }
  if (interaction === 'search-type' && lacksCriteria(store.faults, type, readSearch(store, request, url)))
    return outcome(400, 'required');
  const refusal = interaction === 'search-type' && vendorRefusal(store, type, readSearch(store, request, url));
  if (refusal) return refused(badRequest(refusal));
  if (request.method === 'POST' && id === '$validate' && store.faults.validates.includes(type))
    return validateResponse(store, request);
  if (request.method === 'POST' && type === 'Appointment' && store.faults.books_offers && id?.startsWith('$'))
    return bookingResponse(store, id, request.body);
  if (!interaction || !listInteractions(type, store.faults).includes(interaction)) return outcome(405, 'not-supported');
  if (interaction === 'update' && isPatched(type, store.faults) !== (request.method === 'PATCH'))
    return outcome(405, 'not-supported');
  try {
    if (interaction === 'search-type')
      return json(200, await store.searches.first(type, readSearch(store, request, url)));
    if (interaction === 'read') return readResponse(store, request, type, id ?? '');
    return await alongside(store, () => write(store, request, type, interaction));
  } catch (error) {
    return refused(normalizeOperationOutcome(error));
  }
}

export function json(status: number, body: object, headers: Record<string, string> = {}): HttpResponse {
  return {
    status,
    headers: { 'content-type': 'application/fhir+json; charset=utf-8', ...headers },
    body: JSON.stringify(body),
  };
}

export function outcome(status: number, code: string): HttpResponse {
  return json(status, { resourceType: 'OperationOutcome', issue: [{ severity: 'error', code }] });
}

function vendorRefusal({ faults }: Store, type: string, query: URLSearchParams): string | undefined {
  if (!faults.vendor) return undefined;
  return missingConstant(faults, query) ?? vendors[faults.vendor].refusal(type, query);
}

function missingConstant({ vendor }: FaultSwitches, query: URLSearchParams): string | undefined {
  const { constant_params = {} } = vendor ? vendors[vendor] : {};
  const missing = Object.entries(constant_params).find(([name, value]) => query.get(name) !== value);
  return missing && `Could not determine what practice the request was for. Add the ${missing[0]} search parameter.`;
}

/** Whether a vendor's limit per clock minute is used up. The request counts, too. */
export function exceedsBudget({ faults, minute }: Pick<Store, 'faults' | 'minute'>): boolean {
  const { requests_per_minute = Number.POSITIVE_INFINITY } = faults.vendor ? vendors[faults.vendor] : {};
  const starts_ms = Math.floor(Date.now() / 60_000) * 60_000;
  if (minute.starts_ms !== starts_ms) Object.assign(minute, { starts_ms, requests: 0 });
  return ++minute.requests > requests_per_minute;
}

/** Validates as a write does, and stores nothing. */
async function validateResponse({ repo }: Store, { body }: FhirRequest): Promise<HttpResponse> {
  const { parameter = [] } = JSON.parse(body.toString()) as Parameters;
  const resource = parameter.find(({ name }) => name === 'resource')?.resource;
  if (!resource) return outcome(400, 'required');
  try {
    await repo.check(resource);
    const issue = [{ severity: 'information', code: 'informational' }];
    return json(200, { resourceType: 'OperationOutcome', issue });
  } catch (error) {
    return json(200, normalizeOperationOutcome(error));
  }
}

/** `$find` and `$book`. A refusal is a 200 with a cancelled appointment and the reason, as in Argonaut Scheduling. */
async function bookingResponse(store: Store, name: string, body: Buffer): Promise<HttpResponse> {
  const { parameter = [] } = JSON.parse(body.toString()) as Parameters;
  if (name === '$find') return json(200, await findOffers(store.repo, parameter));
  if (name !== '$book') return outcome(405, 'not-supported');
  return alongside(store, () =>
    store.offers.run(async () => {
      const booked = await bookOffer(store.repo, parameter);
      return booked ? json(200, booked) : outcome(404, 'not-found');
    }),
  );
}

async function pageResponse({ searches }: Store, query: URLSearchParams): Promise<HttpResponse> {
  const page = await searches.further(query);
  return page ? json(200, page) : outcome(410, 'deleted');
}

function findInteraction(method: string, id: string | undefined): Interaction | undefined {
  if (method === 'POST') return id === '_search' ? 'search-type' : id === undefined ? 'create' : undefined;
  if (method === 'GET') return id === undefined ? 'search-type' : 'read';
  return (method === 'PUT' || method === 'PATCH') && id !== undefined ? 'update' : undefined;
}

function lacksCriteria({ narrow, bulk }: FaultSwitches, type: string, params: URLSearchParams): boolean {
  const isCriterion = (name: string) => !name.startsWith('_') && name !== bulk?.practice_param;
  return narrow.includes(type) && ![...params.keys()].some(isCriterion);
}

function readSearch({ faults }: Store, { method, body }: FhirRequest, url: URL): URLSearchParams {
  const read = method === 'POST' && faults.search_by_form === 'taken';
  return read ? new URLSearchParams(body.toString()) : url.searchParams;
}

async function readResponse(store: Store, request: FhirRequest, type: string, id: string): Promise<HttpResponse> {
  const { status, resource, outcome_resource } = await route(store, {
    method: 'GET',
    url: `${type}/${id}`,
    body: undefined,
  });
  if (!resource) return store.faults.missing_ids === 'own_format' ? missingId(id) : refused(outcome_resource);
  const accepted_type = request.headers.accept ?? '';
  if (resource.resourceType === 'Binary' && resource.data && !/json|\*\/\*/.test(accepted_type)) {
    return {
      status: 200,
      headers: { 'content-type': resource.contentType },
      body: Buffer.from(resource.data, 'base64'),
    };
  }
  return json(status, resource, versionHeaders(store, resource));
}

/** As OpenEMR rejects an id that is no UUID, or that no record has. */
function missingId(id: string): HttpResponse {
  const well_formed = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id);
  const body = { validationErrors: { uuid: { 'Uuid::INVALID': 'not a UUID' } }, internalErrors: [], data: [] };
  return {
    status: well_formed ? 404 : 400,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(well_formed ? [] : body),
  };
}

/** Counts the writes in progress, and rejects what is too much. A limited server takes its time, so that they overlap. */
async function alongside({ writing, faults }: Store, work: () => Promise<HttpResponse>): Promise<HttpResponse> {
  if (writing.now >= faults.writes_at_once_max) return fault_responses.too_many;
  writing.now++;
  writing.most = Math.max(writing.most, writing.now);
  try {
    if (Number.isFinite(faults.writes_at_once_max)) await new Promise((done) => setTimeout(done, 50));
    return await work();
  } finally {
    writing.now--;
  }
}

async function write(
  store: Store,
  request: FhirRequest,
  type: string,
  interaction: Interaction,
): Promise<HttpResponse> {
  const is_json = (request.headers['content-type'] ?? '').includes('json');
  const { json_bytes_max, raw_bytes_max } = store.faults;
  if (request.body.length > (is_json ? json_bytes_max : raw_bytes_max)) return fault_responses.too_large;
  const refused_status = store.faults.refused_writes[type]?.[interaction === 'create' ? 'create' : 'update'];
  if (refused_status !== undefined) return outcome(refused_status, 'exception');
  const alone = interaction === 'create' && store.faults.one_create_at_a_time;
  if (alone) {
    if (store.creating > 0) return outcome(500, 'lock-error');
    store.creating++;
    await new Promise((done) => setTimeout(done, 50));
  }
  try {
    const body =
      request.method === 'PATCH'
        ? await patched(store, request)
        : is_json || store.faults.raw_binaries
          ? resourceIn(request, type)
          : undefined;
    if (!body) return refused(badRequest('The body is not a resource.'));
    if (interaction === 'update') return await update(store, request, body);
    return (await bookSlots(store, body)) ?? (await create(store, request, body));
  } finally {
    if (alone) store.creating--;
  }
}

/** The response that refuses an appointment; otherwise its slots are busy afterwards, if the server keeps them. */
async function bookSlots({ repo, faults }: Store, body: Resource): Promise<HttpResponse | undefined> {
  const bound = faults.slots_kept_by === 'bound' || (faults.vendor && vendors[faults.vendor].books_by_slot);
  if (body.resourceType !== 'Appointment' || (faults.slots_kept_by === 'client' && !bound)) return undefined;
  const { slot = [], participant } = body;
  if (bound && (slot.length !== 1 || participant.length !== 1)) return outcome(422, 'invalid');
  const slots = await Promise.all(slot.map((each) => repo.readReference<Slot>(each)));
  if (slots.some(({ status }) => status !== 'free')) return outcome(409, 'conflict');
  for (const each of slots) await repo.updateResource<Slot>({ ...each, status: 'busy' });
  return undefined;
}

async function create(store: Store, request: FhirRequest, { id, meta, ...resource }: Resource): Promise<HttpResponse> {
  const { versionId, lastUpdated, ...rest } = meta ?? {};
  // A server without conditional create ignores the header.
  const condition = store.faults.conditional_create ? request.headers['if-none-exist'] : undefined;
  const {
    status,
    resource: stored,
    outcome_resource,
  } = await route(store, {
    method: 'POST',
    url: resource.resourceType,
    body: ownExtensions(store.faults, ownIdentifiers(store.faults, { ...resource, ...(meta && { meta: rest }) })),
    ...(condition && { headers: { 'if-none-exist': condition } }),
  });
  if (!stored) return refused(outcome_resource);
  const location = `${store.base}/${stored.resourceType}/${stored.id}/_history/${stored.meta?.versionId}`;
  const headers = { ...versionHeaders(store, stored), location };
  return createResponses[store.faults.create_response](status, stored, headers);
}

function ownIdentifiers({ foreign_identifiers }: FaultSwitches, resource: object): object {
  const { identifier } = resource as { identifier?: { system?: string }[] };
  if (foreign_identifiers || !identifier) return resource;
  return { ...resource, identifier: identifier.filter(({ system }) => !system?.startsWith('urn:')) };
}

function ownExtensions({ foreign_extensions }: FaultSwitches, resource: object): object {
  const { extension, ...rest } = resource as { extension?: { url: string }[] };
  if (foreign_extensions || !extension) return resource;
  const supported = extension.filter(({ url }) => url.startsWith('http://hl7.org/fhir/us/core/'));
  return supported.length > 0 ? { ...rest, extension: supported } : rest;
}

type CreateResponse = (status: number, stored: Resource, headers: Record<string, string>) => HttpResponse;

const createResponses: Record<FaultSwitches['create_response'], CreateResponse> = {
  resource: json,
  brief: (status, { resourceType, id, meta }, headers) => json(status, { resourceType, id, meta }, headers),
  empty: (status, _, headers) => ({ status, headers, body: '' }),
  empty_without_location: (status) => ({ status, headers: {}, body: '' }),
  own_format: (status, { id }) => ({
    status,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ pid: 103, uuid: id }),
  }),
  outcome: (status, _, headers) =>
    json(
      status,
      { resourceType: 'OperationOutcome', issue: [{ severity: 'information', code: 'informational' }] },
      headers,
    ),
  not_fhir: (status, _, headers) => ({
    status,
    headers: { ...headers, 'content-type': 'text/plain' },
    body: 'Created.',
  }),
};

async function update(store: Store, request: FhirRequest, resource: Resource): Promise<HttpResponse> {
  const { etag, versioning } = store.faults;
  const [type = '', id = ''] = request.path.split('/');
  const if_match = request.headers['if-match'];
  if (versioning === 'versioned-update' && if_match === undefined) return refused(preconditionFailed);
  if (etag === 'strong' && if_match?.startsWith('W/')) return refused(preconditionFailed);
  const { address } = resource as { address?: { period?: unknown }[] };
  if (store.faults.fails_on_periods && Array.isArray(address) && address.some(({ period }) => period))
    return outcome(500, 'exception');
  const stored = await route(store, { method: 'GET', url: `${type}/${id}`, body: undefined });
  if (!stored.resource) return refused(stored.outcome_resource);
  const response = await route(store, {
    method: 'PUT',
    url: `${type}/${id}`,
    body: ownExtensions(store.faults, resource),
    ...(if_match && versioning !== 'no-version' && { headers: { 'if-match': if_match } }),
  });
  return response.resource
    ? json(response.status, response.resource, versionHeaders(store, response.resource))
    : refused(response.outcome_resource);
}

/** The stored record with the operations applied; undefined if one of them cannot be. */
async function patched(store: Store, { path, headers, body }: FhirRequest): Promise<Resource | undefined> {
  if (headers['content-type'] !== 'application/json-patch+json') return undefined;
  const { resource } = await route(store, { method: 'GET', url: path, body: undefined });
  const changed = structuredClone(resource);
  const operations: Operation[] = JSON.parse(body.toString());
  return changed && applyPatch(changed, operations).every((error) => error === null) ? changed : undefined;
}

/** A Binary may be sent raw. Anything else is a resource of the type in the URL. */
function resourceIn(request: FhirRequest, type: string): Resource | undefined {
  const media_type = request.headers['content-type'] ?? '';
  if (type === 'Binary' && !media_type.includes('json')) {
    const reference = request.headers['x-security-context'];
    return {
      resourceType: 'Binary',
      contentType: media_type,
      data: request.body.toString('base64'),
      ...(reference && { securityContext: { reference } }),
    };
  }
  try {
    const parsed: unknown = JSON.parse(request.body.toString());
    const named = typeof parsed === 'object' && parsed !== null && 'resourceType' in parsed;
    // The type was just checked. The repository checks the rest.
    return named && parsed.resourceType === type ? (parsed as Resource) : undefined;
  } catch {
    return undefined;
  }
}

async function route(store: Store, request: Pick<RouterRequest, 'method' | 'url' | 'body' | 'headers'>) {
  const routed: RouterRequest = { pathname: '', params: {}, query: {}, ...request };
  const [outcome_resource, resource] = await router.handleRequest(routed, store.repo);
  return { status: getStatus(outcome_resource), resource, outcome_resource };
}

function versionHeaders({ faults }: Store, { meta }: Resource): Record<string, string> {
  const version = `"${meta?.versionId}"`;
  if (faults.etag === 'none' || faults.versioning === 'no-version') return {};
  return { etag: faults.etag === 'weak' ? `W/${version}` : version };
}

function refused(outcome_resource: OperationOutcome): HttpResponse {
  const too_costly = outcome_resource.issue?.some(({ code }) => code === 'too-costly');
  const status = outcome_resource === notFound ? 404 : too_costly ? 422 : getStatus(outcome_resource);
  return json(status, outcome_resource);
}
