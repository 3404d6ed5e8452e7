import type * as fhir from 'fhir/r4.js';
import { parseUrl } from '../../../catalog/parseUrl.ts';
import type { OutboundResponse } from '../../../platform/security/outbound.ts';
import type { Exporter, ExportStatus } from '../../bulkExports.ts';
import type { Access, EmrEndpoint } from '../../connector.ts';
import { parseResponse, readRetryAfter, sendRequest } from '../../emrCalls.ts';
import { EmrFailure, type EmrFailureKind } from '../../emrFailure.ts';
import { isBelowBase, readIssues, unreadable_response } from '../transport/call.ts';
import { type ServerFacts, toCapabilities } from '../transport/capabilities.ts';
import { createClient, openSession } from '../transport/client.ts';
import { exportable_types } from '../transport/exports.ts';
import { buildUrl } from '../transport/server.ts';
import { readFile } from './files.ts';
import { toManifest } from './manifest.ts';

/** Exports by the HL7 Bulk Data Access IG: kick-off, status, files, and the end. */
export function createExporter(endpoint: EmrEndpoint, access: Access): Exporter {
  // Written by signIn from a value of this type.
  const facts: ServerFacts = JSON.parse(access.grant.server ?? '{"types":{}}');
  const { listPlan } = toCapabilities(facts);
  const path = facts.export?.path;
  const types = exportable_types.filter((type) => listPlan(type)?.by === 'export');
  const session = openSession(endpoint, access);
  const base = new URL(endpoint.address);
  const send = async (request: BulkRequest): Promise<BulkResponse> => {
    const response = await session.send(
      {},
      (access_token) => exchange(endpoint, request, access_token),
      ({ status }) => status === 401,
    );
    return { ...response, outcome: await readOutcome(response) };
  };
  return {
    target: path && describeTarget(endpoint, path),
    types,
    kickOff: async (since) => {
      const response = await send({
        method: 'GET',
        url: kickOffUrl(endpoint, path ?? 'Patient', { _type: types.join(','), ...(since && { _since: since }) }),
        prefer: 'respond-async',
        kind_if_sent: 'unknown_outcome',
      });
      const { status, headers } = response;
      if ([429, 503, 409].includes(status)) return { busy_ms: readRetryAfter(headers) };
      // A gateway may have given up waiting for a server that has started the export.
      if (status >= 500 && status !== 501) throw new EmrFailure('unknown_outcome', failedWith(response));
      if (status !== 202) {
        const { learn } = createClient(endpoint, access, session);
        await learn((known) => {
          known.refused_export = { at_ms: Date.now() };
        });
        const code = status === 403 ? 'not_permitted' : 'not_supported';
        throw new EmrFailure('refused', `The EMR does not start a bulk export: ${failedWith(response)}`, { code });
      }
      return { status_url: toStatusUrl(base, headers['content-location'] ?? headers.location).href };
    },
    poll: async (status_url) => {
      const response = await send({ method: 'GET', url: new URL(status_url), kind_if_sent: 'unavailable' });
      const status = toStatus(response);
      if (status) return status;
      return { state: 'ready', manifest: await readManifest(response, base, send) };
    },
    read: (file, manifest, receive) => readFile({ endpoint, session, base }, { file, manifest, types }, receive),
    end: async (status_url) => {
      const response = await send({ method: 'DELETE', url: new URL(status_url), kind_if_sent: 'unavailable' });
      // 4xx: the EMR does not know it anymore, or does not offer this.
      if (response.status === 429 || response.status >= 500) throw new EmrFailure('unavailable', failedWith(response));
    },
  };
}

type BulkRequest = { method: 'GET' | 'DELETE'; url: URL; prefer?: string; kind_if_sent: EmrFailureKind };
type Outcome = { json: unknown; message: string | undefined } | undefined;
export type BulkResponse = OutboundResponse & { outcome: Outcome };
export type SendBulk = (request: BulkRequest) => Promise<BulkResponse>;

const timeout_ms = 60_000;

function exchange(
  endpoint: EmrEndpoint,
  { method, url, prefer, kind_if_sent }: BulkRequest,
  access_token: string | undefined,
): Promise<OutboundResponse> {
  return sendRequest(endpoint, url, {
    emr: 'The EMR',
    method,
    headers: {
      ...endpoint.headers,
      accept: prefer ? 'application/fhir+json' : 'application/json, application/fhir+json;q=0.9',
      ...(prefer && { prefer }),
      ...(access_token && { authorization: `Bearer ${access_token}` }),
    },
    timeout_ms,
    returns: 'list',
    kind_if_sent,
    // An export changes nothing in a chart.
    only_validates: true,
  });
}

/** Practices that share an address have exports of their own. */
function describeTarget({ search_params = {} }: EmrEndpoint, path: string): string {
  const practice = new URLSearchParams(Object.entries(search_params).sort()).toString();
  return practice === '' ? path : `${path}?${practice}`;
}

function kickOffUrl({ address, search_params = {} }: EmrEndpoint, path: string, params: Record<string, string>): URL {
  const url = new URL(`${buildUrl(new URL(address), ...path.split('/')).href}/$export`);
  // Where practices share an address, these name the practice.
  for (const [name, value] of Object.entries({ ...params, ...search_params })) url.searchParams.set(name, value);
  return url;
}

/** On the EMR's own origin, because the token is sent there. A server behind a proxy may use an internal host name. */
function toStatusUrl(base: URL, location: string | undefined): URL {
  const url = location === undefined ? undefined : parseUrl(location, `${base.href.replace(/\/$/, '')}/`);
  if (!url) throw new EmrFailure('refused', 'The EMR did not say where the state of its export is found.');
  if (url.origin === base.origin) return url;
  const at_base = new URL(url.pathname + url.search, base.origin);
  if (isBelowBase(base, at_base)) return at_base;
  throw new EmrFailure('refused', 'The state of the export is on another host, where the token is not sent.');
}

async function readOutcome(response: OutboundResponse): Promise<Outcome> {
  const parsed = await parseResponse(response, 'list');
  if (!parsed || !('json' in parsed)) return undefined;
  const { resourceType } = Object(parsed.json) as { resourceType?: unknown };
  const outcome = resourceType === 'OperationOutcome' ? (parsed.json as fhir.OperationOutcome) : undefined;
  return { json: parsed.json, message: outcome && describeIssues(outcome) };
}

/** Codes only: texts could name patients. */
function describeIssues(outcome: fhir.OperationOutcome): string {
  const codes = readIssues(outcome).map((issue) => String(issue?.code));
  const known = [...new Set(codes.filter((code) => /^[a-z-]{1,30}$/.test(code)))].slice(0, 5);
  return known.length === 0 ? 'The EMR reports an error.' : `The EMR reports an error (${known.join(', ')}).`;
}

function failedWith({ status, outcome }: BulkResponse): string {
  return outcome?.message ?? `The EMR responded with status ${status}.`;
}

/** Undefined if the export is ready. */
function toStatus(response: BulkResponse): ExportStatus | undefined {
  const { status, headers, outcome } = response;
  if (status === 202 || status === 429 || (status === 503 && 'retry-after' in headers)) {
    return { state: 'preparing', retry_after_ms: readRetryAfter(headers) };
  }
  if (status === 404 || status === 410) return { state: 'gone' };
  if (status >= 500) {
    if (outcome?.message !== undefined) return { state: 'failing', message: outcome.message };
    throw new EmrFailure('unavailable', `The EMR responded with an error (${status}).`);
  }
  if (status === 200) return undefined;
  throw new EmrFailure('refused', failedWith(response));
}

/** A manifest may consist of several pages. */
async function readManifest(first: BulkResponse, base: URL, send: SendBulk) {
  const pages: unknown[] = [];
  const seen = new Set<string>();
  let bytes = 0;
  for (let response = first; ; ) {
    if (response.truncated || response.outcome === undefined) throw new EmrFailure('unavailable', unreadable_response);
    pages.push(response.outcome.json);
    bytes += response.body.length;
    const next = nextPage(response.outcome.json);
    if (next === undefined) return toManifest(pages, base);
    const url = toStatusUrl(base, next);
    if (seen.has(url.href) || bytes > manifest_bytes_max || pages.length >= pages_max) {
      throw new EmrFailure('refused', 'The EMR names more files of its export than can be read.');
    }
    seen.add(url.href);
    response = await send({ method: 'GET', url, kind_if_sent: 'unavailable' });
    if (response.status !== 200) throw new EmrFailure('unavailable', failedWith(response));
  }
}

const pages_max = 1000;
/** 100,000 files. They are all in memory. */
const manifest_bytes_max = 32_000_000;

function nextPage(json: unknown): string | undefined {
  const { link } = Object(json) as { link?: unknown };
  if (!Array.isArray(link)) return undefined;
  const next = link.map((each) => Object(each) as { relation?: unknown; url?: unknown });
  const url = next.find(({ relation }) => relation === 'next')?.url;
  return typeof url === 'string' ? url : undefined;
}
