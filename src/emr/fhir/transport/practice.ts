import type * as fhir from 'fhir/r4.js';
import type { EmrEndpoint } from '../../connector.ts';
import { EmrFailure } from '../../emrFailure.ts';

type Searchable = { method: string; url: URL; body?: unknown };

/**
 * Adds the search parameters that name the practice: where practices share an address, no search is sent without them.
 * A link to the next page that names no type refers to a search that had them.
 */
export function withPractice<Request extends Searchable>(
  { address, search_params = {} }: EmrEndpoint,
  request: Request,
): Request {
  const params = Object.entries(search_params);
  if (params.length === 0 || !isSearch(address, request)) return request;
  const { body } = request;
  if (body instanceof URLSearchParams) {
    const form = new URLSearchParams(body);
    for (const [name, value] of params) form.set(name, value);
    return { ...request, body: form };
  }
  const url = new URL(request.url);
  for (const [name, value] of params) url.searchParams.set(name, value);
  return { ...request, url };
}

/** `GET [base]/Patient?…`, `[base]/Patient/_search`, or an operation of a type, such as `POST [base]/Patient/$match`. */
function isSearch(address: string, { method, url }: Searchable): boolean {
  const base = new URL(address).pathname.replace(/\/+$/, '');
  const [type = '', ...rest] = url.pathname.slice(base.length + 1).split('/');
  if (!/^[A-Z][A-Za-z]+$/.test(type)) return false;
  if (rest.length > 1) return false;
  const [last] = rest;
  // An ID starts neither with an underscore nor with a dollar sign.
  const named = last !== undefined && /^[_$]/.test(last);
  return method === 'GET' ? !last || named : method === 'POST' && named;
}

/**
 * Refuses a record that names another practice. A record that was read by its id was not searched, so nothing else would
 * keep practices apart. The vendor's extension has the name of the search parameter.
 */
export function requirePractice({ search_params = {} }: EmrEndpoint, resource: fhir.FhirResource): void {
  const params = Object.entries(search_params);
  if (params.length === 0) return;
  const records = resource.resourceType === 'Bundle' ? toRecords(resource) : [resource];
  for (const [name, value] of params) {
    if (records.some((record) => readNamed(record, name).some((each) => each !== value))) {
      throw new EmrFailure('refused', 'The EMR returned a record of another practice. It was not used.', {
        code: 'not_permitted',
      });
    }
  }
}

/**
 * Refuses a record that does not say to which practice it belongs. A server may ignore the search parameters of an export,
 * and would then return the records of all practices.
 */
export function requireNamedPractice({ search_params = {} }: EmrEndpoint, resource: fhir.FhirResource): void {
  const unnamed = Object.keys(search_params).find((name) => readNamed(resource, name).length === 0);
  if (unnamed === undefined) return;
  const message = `Records of the export do not name their practice (${unnamed}). Practices could be mixed, so none was used.`;
  throw new EmrFailure('refused', message, { code: 'not_permitted' });
}

function toRecords({ entry }: fhir.Bundle): unknown[] {
  return Array.isArray(entry) ? entry.map((each) => each?.resource) : [];
}

/** The values of the extension that is named after a search parameter. The record is unchecked. */
function readNamed(record: unknown, name: string): string[] {
  const { extension } = Object(record) as { extension?: unknown };
  return (Array.isArray(extension) ? extension : []).flatMap((each: unknown) => {
    const { url, valueReference, valueString } = Object(each) as Partial<fhir.Extension>;
    if (typeof url !== 'string' || url.split('/').at(-1) !== name) return [];
    const value = valueReference?.reference ?? valueString;
    return typeof value === 'string' ? [value] : [];
  });
}
