import { ApiError, type ErrorCode, errorMessage, errors, type Fills } from '../../catalog/errors.ts';
import { connectors } from '../../emr/index.ts';
import { ErrorBody, LoginRequiredBody } from '../../model/job.ts';
import type { Endpoint } from '../endpoint.ts';
import { composeBody as composeErrorBody } from '../sendError.ts';
import type { Describer } from './describeSchema.ts';
import { type Example, type Operation, pascalCase, type Response, type Schema } from './document.ts';

const base_url = 'https://chartwire.example.com';
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
  document_too_large: { document: 'document' },
  document_over_emr_limit: { document: 'document', limit: '1.5 MB' },
  document_script_refused: { document: 'document' },
  document_action_refused: { document: 'document' },
  document_attachment_refused: { document: 'document' },
  document_broken: { document: 'document' },
  document_type_unsupported: { document: 'document' },
  fixed_field: { field: 'dob' },
  fixed_appointment_field: { field: 'mrn' },
  appointment_time_taken: {
    conflict:
      'Harper Samplewell, MD has an appointment that was requested earlier, on 2031-03-03 at 10:00 for 20 minutes.',
  },
  carrier_missing: { name: 'Placebo Shield' },
  restricted_operation: { operation: 'Telephone encounters', emr },
  operation_not_offered: { operation: 'documents' },
  search_not_supported: { search_by: 'phone', supported: 'dob, name, mrn' },
  emr_name_unknown: { emr_name: 'Papyrus', supported: [...connectors.keys()].join(', ') },
  emr_domain_invalid: { rule: 'must be a public address.' },
  practice_not_found: { id: '01a1c5f0a4e87b21b3d94c6f7a8e9100' },
  emr_app_not_found: { id: '01a1c5f0a4e87b21b3d94c6f7a8e9099' },
  emr_app_in_use: { count: '2' },
  emr_app_exists: { host: 'emr.example.org' },
  emr_app_required: { host: 'emr.example.org' },
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
  emr_host_not_found: { host: 'emr.example.org' },
  search_params_required: { names: 'ah-practice' },
  emr_address_wrong: { reason: 'The address of the EMR is not allowed.' },
  emr_check_refused: { emr, reason: 'The account link has expired.' },
  webhook_url_refused: { rule: 'must start with https://.' },
  client_secret_expired: { expired_at: '2026-06-30T00:00:00.000Z' },
  secret_not_permitted: { limit: 'it is read-only' },
  client_network_refused: { address: '203.0.113.7' },
  client_certificate_refused: { reason: 'it is not registered for this application' },
  dashboard_network_refused: { address: '203.0.113.7' },
  client_secrets_max: { max: '200' },
  webhook_endpoints_max: { max: '20' },
  route_not_found: { method: 'GET', path: '/v1/patient' },
  provider_inactive: { id: '501' },
  location_inactive: { id: '12' },
  provider_not_found: { id: '999' },
  referring_provider_not_found: { id: '9999' },
  staff_not_found: { id: '999' },
  location_not_found: { id: '999' },
  pharmacy_not_found: { id: '999' },
  record_unnamed: { reason: "Insurance provider with name 'Papyrus Health' not found." },
  record_not_found: { noun: 'Record', id: '01a1c5f0a4e87b21b3d94c6f7a8e9099' },
  quota_exceeded: { quota: '300 live fetches and dry runs per minute' },
  erasure_blocked: { jobs: '2' },
  legal_hold_active: { hold: '01a1c5f0a4e87b21b3d94c6f7a8e9012' },
  claim_exists: { claim_id: '01a1c5f0a4e87b21b3d94c6f7a8e9012' },
  first_sync_pending: { list: 'providers' },
  edited_copy_exists: { job_id: '1043', next: 'Use what that job creates instead.' },
  job_not_editable: { reason: 'The job has not finished yet.' },
  job_not_repeatable: { reason: 'The job has not finished yet.' },
  job_not_openable: { reason: 'Job 1042 has not finished yet. Open it after its event.' },
  body_too_complex: { limit: '32 levels of nesting' },
  body_too_large: { limit: '1 MB' },
  media_type_unsupported: { expected: 'application/json' },
  method_not_allowed: { method: 'PUT', allowed: 'GET, HEAD' },
  credentials_conflict: { header: 'access_token' },
  emr_unavailable: { emr },
  passkeys_max: { max: '20' },
  operator_role_lacking: { role: 'owner' },
  approval_required: { until: '2031-03-04 15:00 UTC' },
  approvals_max: { max: '100' },
};

/** One response per status, with the message and an example body of every error code. */
export function errorResponses(
  endpoint: Endpoint,
  codes: readonly ErrorCode[],
  describer: Describer,
): Record<string, Response> {
  const describeExample = (code: ErrorCode): Example => {
    const own = ownFills(endpoint, code);
    return own ? { value: composeBody(code, own) } : describer.shareExample(code, { value: composeBody(code) });
  };
  const statuses = [...new Set(codes.map((code) => errors[code].status))].sort((a, b) => a - b);
  return Object.fromEntries(
    statuses.map((status) => {
      const here = codes.filter((code) => errors[code].status === status);
      const values = here.map((code) => [code, describeExample(code)] as const);
      return [
        String(status),
        {
          description: here.map((code) => `\`${code}\`: ${errors[code].message}`).join('  \n'),
          content: {
            'application/json': { schema: narrowSchema(here, describer), examples: Object.fromEntries(values) },
          },
        },
      ];
    }),
  );
}

/**
 * Moves the error responses that several operations have into components, and leaves references: they were half of the
 * document. Responses with an example of their own endpoint stay where they are.
 */
export function shareErrorResponses(operations: readonly Operation[]): Record<string, Response> {
  const texts = operations.flatMap(({ responses }) => Object.values(responses).map((each) => JSON.stringify(each)));
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  const shared: Record<string, Response> = {};
  for (const { responses } of operations) {
    for (const [status, response] of Object.entries(responses)) {
      const examples = Object.entries(response.content?.['application/json']?.examples ?? {});
      const is_general = examples.length > 0 && examples.every(([, { $ref }]) => $ref !== undefined);
      if (!is_general || counts.get(JSON.stringify(response)) === 1) continue;
      const name = examples.map(([code]) => pascalCase(code)).join('Or');
      shared[name] = response;
      responses[status] = { $ref: `#/components/responses/${name}` };
    }
  }
  return shared;
}

/** The body of an error. `own` are the values of its endpoint. */
function composeBody(code: ErrorCode, own: OwnFills = {}): Record<string, unknown> {
  const { field_at_fault, ...own_fill } = own;
  const message = errorMessage(code, { ...(fills as Partial<Record<ErrorCode, object>>)[code], ...own_fill });
  // As it is sent, for an installation at another address.
  return composeErrorBody(
    new ApiError(code, message, { ...(field_at_fault && { field: field_at_fault }) }),
    request_id,
    base_url,
  );
}

type OwnFills = { field_at_fault?: string } & Record<string, string>;

/** Values that depend on the endpoint: the field, the kind of record. Undefined if the error is the same everywhere. */
function ownFills(endpoint: Endpoint, code: ErrorCode): OwnFills | undefined {
  const field = chooseField(endpoint);
  if (code === 'missing_field') return { field, field_at_fault: field };
  if (code === 'invalid_field') return { rule: `${field} ${describeRule(endpoint)}`, field_at_fault: field };
  if (code === 'record_not_found') return { noun: readNoun(endpoint.path) };
  if (code === 'media_type_unsupported' && endpoint.file_field) return { expected: 'multipart/form-data' };
  return undefined;
}

function chooseField({ body, query }: Endpoint): string {
  const schema = body ?? query;
  return (schema?.required ?? [])[0] ?? Object.keys(schema?.properties ?? {})[0] ?? 'body';
}

function describeRule(endpoint: Endpoint): string {
  const schema = (endpoint.body ?? endpoint.query)?.properties[chooseField(endpoint)] as
    | { type?: string; enum?: unknown[]; format?: string }
    | undefined;
  if (schema?.enum) return `must be one of: ${schema.enum.join(', ')}`;
  if (schema?.format === 'date') return 'must be a date that exists, in the form YYYY-MM-DD';
  const type = schema?.type ?? 'string';
  return `must be ${/^[aeio]/.test(type) ? 'an' : 'a'} ${type}`;
}

/** `/v1/webhook-events/{id}/resend` → `Event`. */
function readNoun(path: string): string {
  const named = path.split('/{').at(-2)?.split('/').at(-1) ?? path.split('/')[2] ?? '';
  const word = named.split('-').at(-1)?.replace(/s$/, '') ?? '';
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** The error body, narrowed to the codes of this response. */
function narrowSchema(codes: ErrorCode[], { describeSchema }: Describer): Schema {
  const others = codes.filter((code) => code !== 'login_required');
  const body = { allOf: [describeSchema(ErrorBody), { properties: { code: { enum: others } } }] };
  if (others.length === codes.length) return body;
  const login_required = describeSchema(LoginRequiredBody);
  return others.length === 0 ? login_required : { anyOf: [login_required, body] };
}
