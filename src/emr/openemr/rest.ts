import { randomUUID } from 'node:crypto';
import type { OutboundResponse } from '../../platform/security/outbound.ts';
import type { EmrEndpoint } from '../connector.ts';
import { parseResponse, type ResponseKind, sendRequest, tooBusy } from '../emrCalls.ts';
import { EmrFailure } from '../emrFailure.ts';
import { isBelowBase, isHtmlPage, printable, unreadable_response } from '../fhir/transport/call.ts';
import type { Session } from '../fhir/transport/client.ts';
import { restBase } from './address.ts';
import { isRow, type Row } from './rows.ts';

export type RestRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The segments of the path below the API's base. */
  path: readonly string[];
  /** The scope that it needs: `patient.write`. */
  scope: string;
  query?: Record<string, string>;
  body?: Row;
  /** Sent as a multipart form. */
  file?: { name: string; type: string; content: Buffer };
  /** Default: `record`. */
  returns?: ResponseKind;
};

export type RestResponse = { status: number; json: unknown; empty: boolean; html: boolean };

/** OpenEMR's own API, used as the person who linked the account. */
export type RestClient = {
  /** The rows of a list. */
  list(request: Omit<RestRequest, 'method' | 'returns'>): Promise<Row[]>;
  /** Returns undefined if the record does not exist. */
  read(request: Omit<RestRequest, 'method'>): Promise<Row | undefined>;
  /** Returns what OpenEMR responds to a write that it accepted. */
  write(request: RestRequest & { method: 'POST' | 'PUT' | 'DELETE' }): Promise<unknown>;
};

export function createRestClient(endpoint: EmrEndpoint, session: Session): RestClient {
  const request = (input: RestRequest) =>
    session.send({ writes: isWrite(input) }, (access_token) => call(endpoint, input, access_token), refusesToken);
  return {
    list: async (input) => toRows(await request({ ...input, method: 'GET', returns: 'list' }), input.scope),
    read: async (input) => {
      const response = await request({ ...input, method: 'GET' });
      if (isMissing(response)) return undefined;
      return toRow(response, input.scope);
    },
    write: async (input) => {
      const response = await request(input);
      if (response.status >= 400) throw toRejection(response, input.scope);
      if (response.json === undefined) throw new EmrFailure('unknown_outcome', unreadable_response);
      return response.json;
    },
  };
}

/** Sends one request. Throws if OpenEMR is unreachable, overloaded or failing, or if a proxy responds in its place. */
export async function call(
  endpoint: EmrEndpoint,
  input: RestRequest,
  access_token: string | undefined,
): Promise<RestResponse> {
  const kind_if_sent = isWrite(input) ? 'unknown_outcome' : 'unavailable';
  const base = restBase(endpoint.address);
  const url = new URL(`${base.href}/${input.path.map(encodeURIComponent).join('/')}`);
  if (!isBelowBase(base, url)) throw new EmrFailure('not_found', 'The EMR has no such record.');
  url.search = new URLSearchParams(input.query ?? {}).toString();
  const { body, headers } = toBody(input);
  const response = await sendRequest(endpoint, url, {
    emr: 'OpenEMR',
    method: input.method,
    headers: {
      ...endpoint.headers,
      accept: 'application/json',
      ...headers,
      ...(access_token && { authorization: `Bearer ${access_token}` }),
    },
    body,
    timeout_ms,
    returns: input.returns ?? 'record',
    kind_if_sent,
  });
  const { status } = response;
  if (status === 429 || (status === 503 && 'retry-after' in response.headers)) throw tooBusy('OpenEMR', response);
  // Never followed: the target would receive the token.
  if (status >= 300 && status < 400) {
    throw new EmrFailure(kind_if_sent, `OpenEMR redirected to another address (${status}), which is not followed.`);
  }
  // The body may quote SQL.
  if (status >= 500 || status === 408)
    throw new EmrFailure(kind_if_sent, `OpenEMR responded with an error (${status}).`);
  const parsed = await readJson(response, input);
  const html = isHtmlPage(response);
  if (status < 400 && (html || parsed === undefined)) throw new EmrFailure(kind_if_sent, unreadable_response);
  // An unknown route has an empty body. A page is a proxy's.
  if (status >= 400 && html) throw new EmrFailure(kind_if_sent, unreadable_response);
  return { status, json: parsed?.json, empty: response.body.length === 0, html };
}

const timeout_ms = 30_000;

async function readJson(response: OutboundResponse, { returns = 'record' }: RestRequest) {
  const parsed = await parseResponse(response, returns);
  return parsed && 'json' in parsed ? parsed : undefined;
}

function isWrite({ method }: Pick<RestRequest, 'method'>): boolean {
  return method !== 'GET';
}

/** A missing scope is also a 401, with an empty body. A new token would not help. */
function refusesToken({ status, empty }: RestResponse): boolean {
  return status === 401 && !empty;
}

function toBody({ body, file }: RestRequest): { body: string | Buffer | undefined; headers: Record<string, string> } {
  if (file) {
    const boundary = `chartwire-${randomUUID()}`;
    // Quotes and line breaks would end the name.
    const name = file.name.replace(/["\r\n\\]/g, '_');
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="document"; filename="${name}"\r\ncontent-type: ${file.type}\r\n\r\n`;
    return {
      body: Buffer.concat([Buffer.from(head), file.content, Buffer.from(`\r\n--${boundary}--\r\n`)]),
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
    };
  }
  if (!body) return { body: undefined, headers: {} };
  return { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
}

/** Lists come plain or in `data`; a list without records may be 404 with the body `null`. */
function toRows(response: RestResponse, scope: string): Row[] {
  const { status, json } = response;
  if (status === 404 && json === null) return [];
  if (status >= 400) throw toRejection(response, scope);
  const rows = Array.isArray(json) ? json : readData(json);
  if (Array.isArray(rows)) return rows.filter(isRow);
  throw new EmrFailure('unavailable', unreadable_response);
}

/** A single record comes in `data`, or as a list of one. */
function toRow(response: RestResponse, scope: string): Row | undefined {
  const data = response.status < 400 ? readData(response.json) : undefined;
  return isRow(data) ? data : toRows(response, scope)[0];
}

/** What a response contains besides its errors. */
export function readData(json: unknown): unknown {
  return isRow(json) ? json.data : undefined;
}

/** An unknown id is 404 with the body `null`, or 400 with the validation error `invalid or nonexisting value`. */
function isMissing({ status, json }: RestResponse): boolean {
  if (status === 404) return json === null || isEmptyList(json);
  return status === 400 && JSON.stringify(json ?? null).includes('nonexisting value');
}

function isEmptyList(json: unknown): boolean {
  return Array.isArray(json) && json.length === 0;
}

function toRejection(response: RestResponse, scope: string): EmrFailure {
  const { status, json, empty } = response;
  if (status === 401 && empty) {
    const message = `The sign-in does not include the scope user/${scope}. Register it for the client, then link the account again.`;
    return new EmrFailure('refused', message, { code: 'not_permitted', not_offered: true });
  }
  if (status === 403 || status === 401) {
    const message = 'This user is not allowed to perform this operation in OpenEMR.';
    return new EmrFailure('refused', message, { code: 'not_permitted' });
  }
  if (status === 404 && empty) {
    const message = 'This version of OpenEMR does not have this operation.';
    return new EmrFailure('refused', message, { code: 'not_supported', not_offered: true });
  }
  if (isMissing(response)) return new EmrFailure('not_found', 'OpenEMR has no such record.');
  const rules = describeRules(json);
  const message = rules === '' ? `OpenEMR did not accept the request (${status}).` : `OpenEMR rejected: ${rules}`;
  return new EmrFailure('refused', message, { code: 'emr_validation' });
}

const rules_max = 3;

/** `{ validationErrors: { lname: { rule: text } } }`, or the fields without the envelope. Values are not repeated. */
function describeRules(json: unknown): string {
  const { validationErrors: fields = json } = Object(json) as { validationErrors?: unknown };
  if (!isRow(fields)) return '';
  return Object.entries(fields)
    .slice(0, rules_max)
    .flatMap(([field, rules]) => {
      const [rule] = isRow(rules) ? Object.values(rules) : [rules];
      const text = printable(rule);
      return /^[A-Za-z_]+$/.test(field) && text !== undefined ? [`${field}: ${text}`] : [];
    })
    .join('; ');
}
