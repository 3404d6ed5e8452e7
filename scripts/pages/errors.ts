import { endpoints } from '../../src/api/endpoints.ts';
import { type ErrorCode, errors } from '../../src/errors.ts';
import type { Document } from '../../src/openapi/document.ts';
import { errorsOf } from '../../src/openapi/openApi.ts';
import { code, json, page, table } from './markdown.ts';

/** Beyond this many endpoints a list of them tells less than their number. */
const listed_max = 8;

export function errorsPage(document: Document): string {
  const by_status = Object.entries(errors).toSorted(([, a], [, b]) => a.status - b.status);
  const rows = by_status.map(([name, { status, message }]) => {
    return [String(status), code(name), message, where(name as ErrorCode)];
  });
  const { post } = document.paths['/v1/telephone-encounters'] ?? {};
  const shown = (status: string) =>
    Object.values(post?.responses[status]?.content?.['application/json']?.examples ?? {})[0]?.value;
  return page('Errors', [
    'Every apiError has an HTTP status and this body. `message` is for people, `code` for programs; it never changes. `field` is there where one field is at fault. `request_id` is also in the header `x-request-id`: quote it when you ask for help.',
    json(shown('404')),
    '`login_required` alone has exactly these three fields. The account’s link has expired: run Link in update mode, and waiting work goes on.',
    json(shown('403')),
    'Try again later: 408, 409 `idempotency_key_running`, 429 (after `retry-after` seconds), 500 and 503. Everything else stays refused until the request or its surroundings change. `{…}` marks what differs from case to case.',
    table(['Status', 'Code', 'Message', 'Endpoints'], rows),
  ]);
}

function where(name: ErrorCode): string {
  const users = endpoints.filter((each) => errorsOf(each).includes(name));
  if (users.length === endpoints.length) return 'all';
  if (users.length === 0) return apartFromEndpoints(name);
  return users.length > listed_max ? `${users.length} endpoints` : users.map((each) => code(each.id)).join(', ');
}

/** Errors that no endpoint of the reference answers with, and where they are met instead. */
const apart: Record<string, readonly ErrorCode[]> = {
  'any address': ['request_malformed', 'route_not_found', 'request_timeout', 'headers_too_large'],
  'Link’s page': ['emr_page_declined', 'page_sign_in_unknown', 'link_unknown', 'link_expired', 'link_used'],
  'the reference page': ['sandbox_values_refused'],
  'the dashboard': [
    'operator_credentials_wrong',
    'operator_code_required',
    'operator_code_wrong',
    'operator_session_over',
    'operator_role_lacking',
    'operator_request_foreign',
    'operator_exists',
    'operator_locked',
    'owner_last',
    'account_revoked',
    'job_not_repeatable',
    'job_not_reviewable',
    'master_key_in_settings',
  ],
};

function apartFromEndpoints(name: ErrorCode): string {
  const place = Object.keys(apart).find((each) => apart[each]?.includes(name));
  if (!place) throw new Error(`No endpoint answers with ${name}: say in scripts/pages/errors.ts where it is met.`);
  return place;
}
