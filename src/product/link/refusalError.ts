import { ApiError, apiError } from '../../catalog/errors.ts';
import type { Connector, SignInRefusal } from '../../emr/connector.ts';

/**
 * The error for a sign-in that the EMR refused. Each reason has its own code, so that nobody corrects the wrong thing.
 * `key_set` is the URL that the EMR must know.
 */
export function refusalError(
  { display_name: emr, sign_in_ways = [] }: Connector,
  refusal: SignInRefusal,
  key_set: string,
): ApiError {
  switch (refusal.reason) {
    case 'key':
      return apiError('emr_key_refused', { emr, key_set });
    case 'scope':
      return apiError('emr_scope_refused', { emr, scopes: refusal.scopes });
    case 'method': {
      const names = sign_in_ways.map(({ name }) => name).filter((name) => refusal.supported_ways.includes(name));
      return apiError('emr_method_refused', { emr, methods: names.join(', ') }, { field: 'credentials.way' });
    }
    default:
      return apiError(codes[refusal.reason], { emr });
  }
}

/** The same error, with the EMR's own explanation. */
export function quoteEmr(
  { code, message, field }: ApiError,
  { display_name: emr }: Connector,
  { emr_message, reason }: SignInRefusal,
): ApiError {
  // The scopes are the explanation.
  const quoted = emr_message === undefined || reason === 'scope' ? '' : ` ${emr} says: "${emr_message}"`;
  return new ApiError(code, message + quoted, { ...(field !== undefined && { field }) });
}

const codes = {
  credentials: 'emr_credentials_wrong',
  code: 'emr_code_wrong',
  locked: 'emr_locked',
  access: 'emr_access_refused',
  client: 'emr_client_refused',
  secret: 'emr_secret_refused',
  no_records: 'emr_no_records',
} as const;
