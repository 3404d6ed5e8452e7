import { type ErrorCode, errors } from '../../src/catalog/errors.ts';
import { findRemedy } from '../../src/catalog/remedies.ts';
import type { Document } from '../../src/http/openapi/document.ts';
import { listErrors } from '../../src/http/openapi/openApi.ts';
import { endpoints } from '../../src/surfaces/api/endpoints.ts';
import { code, json, page } from './markdown.ts';

/** Above this number of endpoints the page shows the number instead of a list. */
const listed_max = 8;

export function errorsPage(document: Document): string {
  const by_status = Object.entries(errors).toSorted(([, a], [, b]) => a.status - b.status);
  // Object.entries forgets the names.
  const sections = by_status.map(([name, { status, message }]) => describeCode(name as ErrorCode, status, message));
  const { post } = document.paths['/v1/telephone-encounters'] ?? {};
  const example = (status: string) =>
    Object.values(post?.responses[status]?.content?.['application/json']?.examples ?? {})[0]?.value;
  return page('Errors', [
    'Every error has an HTTP status and this body. `message` is human-readable and may change. `code` is machine-readable and never changes. `field` is present if a single field caused the error. If the request is not valid, `errors` lists every invalid field (at most 100), the one of the message first. `remedy` says what to do, and `doc_url` leads to the section of the code on this page. `request_id` is also sent in the `x-request-id` header; include it when you ask for help.',
    json(example('404')),
    '`login_required` has exactly these three fields. It means that the account’s link has expired. Run Link in update mode; waiting jobs then resume.',
    json(example('403')),
    'Retry these after a pause: 408, 409 `idempotency_key_running`, 429 (after `retry-after` seconds), 500 and 503. Other errors recur until the request, or the data it refers to, changes. `{…}` is a placeholder.',
    ...sections,
  ]);
}

/** A section of its own: the `doc_url` of the error leads to it. */
function describeCode(name: ErrorCode, status: number, message: string): string {
  const lines = [
    `${status}: ${message}`,
    ...(name === 'login_required' ? [] : [findRemedy(name)]),
    `Endpoints: ${where(name)}.`,
  ];
  return `### ${code(name)}\n\n${lines.join('\n\n')}`;
}

function where(name: ErrorCode): string {
  const users = endpoints.filter((each) => listErrors(each).includes(name));
  if (users.length === endpoints.length) return 'all';
  if (users.length === 0) return findPlace(name);
  return users.length > listed_max ? `${users.length} endpoints` : users.map((each) => code(each.id)).join(', ');
}

/** Errors that no documented endpoint returns, and where they occur instead. */
const undocumented: Record<string, readonly ErrorCode[]> = {
  'any URL': ['request_malformed', 'route_not_found', 'method_not_allowed', 'request_timeout', 'headers_too_large'],
  'the Link page': [
    'consent_required',
    'consent_outdated',
    'emr_page_declined',
    'page_sign_in_mixed_up',
    'page_sign_in_unknown',
    'link_unknown',
    'link_expired',
    'link_used',
    'practice_fixed',
    'practice_required',
    'practice_unavailable',
  ],
  'the practice page': [
    'practice_pass_invalid',
    'practice_page_unknown',
    'practice_session_invalid',
    'practice_page_other_user',
    'practice_page_exhausted',
  ],
  'the docs page': ['sandbox_values_refused'],
  'the dashboard': [
    'client_secrets_max',
    'dashboard_network_refused',
    'operator_credentials_wrong',
    'operator_code_required',
    'operator_code_wrong',
    'operator_session_over',
    'operator_passkey_required',
    'operator_password_temporary',
    'operator_second_factor_missing',
    'operator_sign_in_again',
    'passkey_not_registered',
    'passkey_refused',
    'passkeys_max',
    'passkeys_need_name',
    'operator_role_lacking',
    'operator_clients_lacking',
    'reveal_not_allowed',
    'disclosures_not_allowed',
    'invitation_invalid',
    'operator_request_foreign',
    'operator_exists',
    'operator_locked',
    'operator_codes_locked',
    'operator_password_expired',
    'totp_offer_missing',
    'sign_in_busy',
    'owner_from_provider',
    'operator_password_off',
    'operator_single_sign_on',
    'passwords_off',
    'live_streams_exceeded',
    'owner_last',
    'operator_inactive',
    'approval_required',
    'approvals_max',
    'approval_over',
    'approval_own',
    'approval_right_lost',
    'review_attested',
    'account_revoked',
    'emr_app_exists',
    'emr_app_pair_taken',
    'emr_app_in_use',
    'emr_check_refused',
    'erasure_blocked',
    'legal_hold_active',
    'legal_hold_not_allowed',
    'job_not_editable',
    'job_not_repeatable',
    'job_not_reviewable',
    'master_key_in_settings',
  ],
  '`GET /metrics`': ['metrics_token_invalid'],
  'single sign-on to the dashboard': [
    'sso_off',
    'sso_expired',
    'sso_declined',
    'sso_client_refused',
    'sso_invalid',
    'sso_unavailable',
    'sso_role_missing',
    'sso_email_missing',
    'sso_email_taken',
    'sso_email_unverified',
    'sso_other_person',
    'sso_auth_time_missing',
    'sso_not_again',
    'sso_disabled',
    'sso_acr_missing',
    'sso_amr_missing',
    'logout_token_refused',
    'logout_token_unchecked',
  ],
};

function findPlace(name: ErrorCode): string {
  const place = Object.keys(undocumented).find((each) => undocumented[each]?.includes(name));
  if (!place) throw new Error(`No endpoint returns ${name}: add it to the list in scripts/pages/errors.ts.`);
  return place;
}
