import { connectors } from '../connectors/index.ts';
import { apiError, type ErrorCode, errors, type Fills } from '../errors.ts';
import type { Endpoint } from '../http/endpoint.ts';
import { ErrorBody, LoginRequiredBody } from '../model/error.ts';
import type { Describer } from './describeSchema.ts';
import type { Response, Schema } from './document.ts';

const request_id = '01a1c5f0d5e97f66a3b2c1d0e9f80712';
const emr = [...connectors.values()].map((each) => each.display_name)[0] ?? '';

/** Values for the placeholders of error messages, where the endpoint does not determine them. */
const fills: Fills = {
  missing_field: { field: 'patient_mrn' },
  unexpected_fields: { fields: 'color' },
  unexpected_query: { names: 'color' },
  invalid_field: { rule: 'reason must be a string' },
  restricted_field: { field: 'language', emr },
  unsupported_field: { field: 'template_name' },
  document_over_emr_limit: { limit: '1.5 MB' },
  fixed_field: { field: 'dob' },
  carrier_missing: { name: 'Placebo Shield' },
  restricted_operation: { operation: 'Telephone encounters', emr },
  operation_not_offered: { operation: 'documents' },
  emr_name_unknown: { emr_name: 'Papyrus', supported: [...connectors.keys()].join(', ') },
  emr_domain_invalid: { rule: 'must be a public address.' },
  emr_app_not_found: { id: '01a1c5f0a4e87b21b3d94c6f7a8e9099' },
  emr_app_in_use: { count: '2' },
  emr_credentials_wrong: { emr },
  emr_code_required: { emr },
  emr_code_wrong: { emr },
  emr_locked: { emr },
  emr_access_refused: { emr },
  emr_client_refused: { emr },
  emr_secret_refused: { emr },
  emr_key_refused: { emr, key_set: 'https://chartwire.example.com/.well-known/jwks.json' },
  emr_scope_refused: { emr, scopes: 'system/*.read system/*.write' },
  emr_method_refused: { emr, methods: 'backend_services, bearer_token' },
  emr_no_records: { emr },
  emr_user_mismatch: { name: 'Avery Sampleton' },
  emr_page_required: { emr },
  emr_page_declined: { emr },
  emr_sign_in_refused: { emr, reason: 'This user may not use the API.' },
  emr_check_refused: { emr, reason: 'The account link has expired.' },
  webhook_url_refused: { rule: 'must start with https://.' },
  webhook_endpoints_max: { max: '20' },
  route_not_found: { method: 'GET', path: '/v1/patient' },
  provider_not_found: { id: '999' },
  staff_not_found: { id: '999' },
  location_not_found: { id: '999' },
  pharmacy_not_found: { id: '999' },
  record_unnamed: { reason: "Insurance provider with name 'Papyrus Health' not found." },
  record_not_found: { noun: 'Record', id: '01a1c5f0a4e87b21b3d94c6f7a8e9099' },
  erasure_blocked: { jobs: '2' },
  first_sync_pending: { list: 'providers' },
  job_not_repeatable: { reason: 'The job has not finished yet.' },
  body_too_complex: { limit: '32 levels of nesting' },
  body_too_large: { limit: '1 MB' },
  media_type_unsupported: { expected: 'application/json' },
  emr_unavailable: { emr },
  operator_role_lacking: { role: 'owner' },
};

/** One response per status, with the message and an example body of every error code. */
export function errorResponses(
  endpoint: Endpoint,
  codes: readonly ErrorCode[],
  describer: Describer,
): Record<string, Response> {
  const statuses = [...new Set(codes.map((code) => errors[code].status))].sort((a, b) => a - b);
  return Object.fromEntries(
    statuses.map((status) => {
      const here = codes.filter((code) => errors[code].status === status);
      const values = here.map((code) => [code, { value: exampleOf(endpoint, code) }] as const);
      return [
        String(status),
        {
          description: here.map((code) => `\`${code}\`: ${errors[code].message}`).join('  \n'),
          content: { 'application/json': { schema: schemaOf(here, describer), examples: Object.fromEntries(values) } },
        },
      ];
    }),
  );
}

/** The error body as the endpoint would send it. */
function exampleOf(endpoint: Endpoint, code: ErrorCode): Record<string, unknown> {
  const fill = { ...(fills as Record<string, object>)[code], ...ownFills(endpoint, code) };
  // The type of `fills` ensures that a fill matches its code's placeholders.
  const { message } = apiError(code, fill as never);
  if (code === 'login_required') return { success: false, error: code, message };
  const field = code === 'missing_field' || code === 'invalid_field' ? { field: fieldOf(endpoint) } : {};
  return { success: false, message, code, request_id, ...field };
}

/** Values that depend on the endpoint: the field, the kind of record. */
function ownFills(endpoint: Endpoint, code: ErrorCode): Record<string, string> {
  if (code === 'missing_field') return { field: fieldOf(endpoint) };
  if (code === 'invalid_field') return { rule: `${fieldOf(endpoint)} ${ruleOf(endpoint)}` };
  if (code === 'record_not_found') return { noun: nounOf(endpoint.path) };
  if (code === 'media_type_unsupported' && endpoint.file_field) return { expected: 'multipart/form-data' };
  return {};
}

function fieldOf({ body, query }: Endpoint): string {
  const schema = body ?? query;
  return (schema?.required ?? [])[0] ?? Object.keys(schema?.properties ?? {})[0] ?? 'body';
}

function ruleOf(endpoint: Endpoint): string {
  const schema = (endpoint.body ?? endpoint.query)?.properties[fieldOf(endpoint)] as
    | { type?: string; enum?: unknown[]; format?: string }
    | undefined;
  if (schema?.enum) return `must be one of: ${schema.enum.join(', ')}`;
  if (schema?.format === 'date') return 'must be a date that exists, in the form YYYY-MM-DD';
  const type = schema?.type ?? 'string';
  return `must be ${/^[aeio]/.test(type) ? 'an' : 'a'} ${type}`;
}

/** `/v1/webhook-events/{id}/resend` → `Event`. */
function nounOf(path: string): string {
  const named = path.split('/{').at(-2)?.split('/').at(-1) ?? path.split('/')[2] ?? '';
  const word = named.split('-').at(-1)?.replace(/s$/, '') ?? '';
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** The error body, narrowed to the codes of this response. */
function schemaOf(codes: ErrorCode[], { describeSchema }: Describer): Schema {
  if (codes.length === 1 && codes[0] === 'login_required') return describeSchema(LoginRequiredBody);
  return { allOf: [describeSchema(ErrorBody), { properties: { code: { enum: codes } } }] };
}
