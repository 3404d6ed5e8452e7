import { apiError } from '../../catalog/errors.ts';
import { type CountedPer, counted_per, type RequestSettings } from '../../emr/requestSettings.ts';

/** What an operator enters for the requests of an EMR app. Absent or blank: nothing. */
export type SentSettings = {
  scope?: string | null;
  headers?: Readonly<Record<string, string>>;
  search_params?: Readonly<Record<string, string>>;
  bulk_group?: string | null;
  requests_counted_per?: string;
};

/** Validates the settings and throws on the first error. Returns them as they are stored. */
export function checkRequestSettings(sent: SentSettings): RequestSettings {
  return {
    scope: checkScope(sent.scope?.trim().replace(/\s+/g, ' ') || null),
    headers: checkHeaders(sent.headers ?? {}),
    search_params: checkParams(sent.search_params ?? {}),
    bulk_group: checkGroup(sent.bulk_group?.trim() || null),
    requests_counted_per: checkCountedPer(sent.requests_counted_per ?? 'address'),
  };
}

const text_max = 2000;
const scope_max = 10_000;

/** RFC 6749, appendix A.4. */
function checkScope(scope: string | null): string | null {
  if (scope !== null && (scope.length > scope_max || !/^[\x21\x23-\x5b\x5d-\x7e ]+$/.test(scope))) {
    throw invalid('scope', `must be scopes with blanks between them, at most ${scope_max} characters`);
  }
  return scope;
}

/** Headers that decide who asks, what for, and how the response is read. */
const own_headers =
  /^(authorization|proxy-.*|cookie|host|accept.*|content-.*|connection|transfer-encoding|te|trailer|upgrade|expect|prefer|if-.*|cache-control|x-forwarded-.*|forwarded)$/;

function checkHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [name.trim().toLowerCase(), value.trim()] as const);
  for (const [name, value] of entries) {
    if (!/^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(name)) throw invalid('headers', 'must have names such as x-api-key');
    if (own_headers.test(name)) throw invalid('headers', `must not contain ${name}, which is set for each request`);
    if (!/^[\x20-\x7e]+$/.test(value) || value.length > text_max) {
      throw invalid('headers', `must have values of 1 to ${text_max} printable characters`);
    }
  }
  if (new Set(entries.map(([name]) => name)).size < entries.length)
    throw invalid('headers', 'must name each header once');
  return Object.fromEntries(entries);
}

/** Those that only affect the form of a response, and those that would replace a search's own criteria. */
const own_params =
  /^(_count|_sort|_total|_include|_revinclude|_summary|_elements|_format|_id|_lastUpdated|patient|identifier)$/;

function checkParams(params: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(params).map(([name, value]) => [name.trim(), value.trim()] as const);
  for (const [name, value] of entries) {
    if (!/^[A-Za-z_-][A-Za-z0-9_.:-]{0,63}$/.test(name)) {
      throw invalid('search_params', 'must have names such as ah-practice');
    }
    if (own_params.test(name))
      throw invalid('search_params', `must not contain ${name}, which searches use themselves`);
    if (value.length > text_max || /\p{Cc}/u.test(value)) {
      throw invalid('search_params', `must have values of at most ${text_max} printable characters`);
    }
  }
  if (new Set(entries.map(([name]) => name)).size < entries.length)
    throw invalid('search_params', 'must name each parameter once');
  return Object.fromEntries(entries);
}

/** Those of a practice have values: only an app leaves some open. */
export function checkPracticeParams(params: Readonly<Record<string, string>>): Record<string, string> {
  const checked = checkParams(params);
  if (Object.values(checked).includes('')) throw invalid('search_params', 'must have a value for each name');
  return checked;
}

function checkGroup(id: string | null): string | null {
  if (id !== null && !/^[A-Za-z0-9.-]{1,64}$/.test(id)) throw invalid('bulk_group', 'must be the ID of a Group');
  return id;
}

function checkCountedPer(text: string): CountedPer {
  const known = counted_per.find((each) => each === text);
  if (!known) throw invalid('requests_counted_per', `must be one of: ${counted_per.join(', ')}`);
  return known;
}

function invalid(field: string, rule: string) {
  return apiError('invalid_field', { rule: `${field} ${rule}` }, { field });
}
