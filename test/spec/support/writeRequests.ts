import type { Endpoint } from '../../../src/http/endpoint.ts';
import { composeExamples } from '../../../src/http/openapi/describeOperation.ts';
import { endpoints } from '../../../src/surfaces/api/endpoints.ts';
import { tryItValues } from '../../../src/surfaces/sandbox/banner.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { documents } from '../../harness/documents.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { findAppointmentId } from './appointments.ts';

/** Every endpoint that accepts a write or a live fetch. A sync is neither. */
export const write_endpoints: readonly Endpoint[] = endpoints.filter(
  ({ id, events }) => events && id !== 'sync.create',
);

export type WriteOptions = {
  /** Added to the fields of the example. */
  fields?: Record<string, unknown>;
  query?: string;
  headers?: Record<string, string | null>;
};

/** Sends the example request of the reference, with ids of this installation: a new endpoint needs no code here. */
export async function sendWrite(
  fixture: TestSandbox,
  endpoint: Endpoint,
  { fields = {}, query = '', headers = {} }: WriteOptions = {},
): Promise<ApiResponse> {
  const { params, body } = composeExamples(endpoint);
  for (const [name, source] of Object.entries(endpoint.found_in ?? {})) {
    if (endpoint.params && name in endpoint.params.properties) params[name] = await lookUp(fixture, source);
    else if (body && name in body) body[name] = await lookUp(fixture, source);
  }
  // No list of the API that a form could look it up in has the appointments of the practice.
  if (body && 'appointment_id' in body) body.appointment_id = await findAppointmentId(fixture, fixture.api);
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(params[name]))) + query;
  const sent = { ...body, ...fields };
  if (endpoint.file_field === undefined) return fixture.api.call(endpoint.method, path, { body: sent, headers });
  return sendForm(fixture, path, { fields: sent, file_field: endpoint.file_field, headers });
}

type Form = { fields: Record<string, unknown>; file_field: string; headers: Record<string, string | null> };

async function sendForm({ sandbox }: TestSandbox, path: string, form: Form): Promise<ApiResponse> {
  const { client_id, client_secret, access_token, base_url } = sandbox;
  const body = new FormData();
  for (const [name, value] of Object.entries(form.fields)) if (name !== form.file_field) body.set(name, String(value));
  body.set(form.file_field, new Blob([new Uint8Array(documents.pdf)]), 'letter.pdf');
  const all = { client_id, client_secret, access_token, ...form.headers };
  const headers = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== null);
  const response = await fetch(base_url + path, { method: 'POST', headers, body });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

async function lookUp({ api, ctx, sandbox }: TestSandbox, source: string): Promise<unknown> {
  const [origin = '', pointer = ''] = source.split('#');
  const body =
    origin === 'sandbox' ? await tryItValues(ctx, sandbox) : (await api.call('GET', origin.replace('GET ', ''))).body;
  return pointer
    .split('/')
    .slice(1)
    .reduce((at, part) => at?.[part], body);
}
