import type { CredentialField, SignInWay } from '../../connector.ts';
import type { AuthorizationServer } from './discover.ts';

/** The fields of all ways. `off` keeps browsers from suggesting a user name as client ID. */
export const credential_fields: readonly CredentialField[] = [
  { name: 'client_id', label: 'Client ID', secret: false, autocomplete: 'off' },
  { name: 'client_secret', label: 'Client secret', secret: true, autocomplete: 'off' },
  { name: 'app_secret', label: 'Client secret (optional)', secret: true, autocomplete: 'off', optional: true },
  { name: 'bearer_token', label: 'Bearer token', secret: true, autocomplete: 'off' },
];

/** In order of preference: the first two need no person to renew. */
export const sign_in_ways: readonly SignInWay[] = [
  {
    name: 'backend_services',
    label: 'Signing key (SMART Backend Services)',
    about: 'The EMR identifies this service by its public keys. No secret is shared.',
    fields: ['client_id'],
    by_app: true,
    app_required: true,
    must_register: 'key_set',
  },
  {
    name: 'client_secret',
    label: 'Client ID and secret',
    about: 'Use the client ID and secret from your EMR administrator.',
    fields: ['client_id', 'client_secret'],
    by_app: true,
  },
  {
    name: 'authorization_code',
    label: 'Sign in on the EMR’s own page',
    about: 'Opens the EMR’s sign-in page in a new window.',
    fields: ['client_id', 'app_secret'],
    by_app: true,
    must_register: 'return_address',
    on_page: true,
  },
  {
    name: 'bearer_token',
    label: 'Bearer token',
    about: 'Use a token issued by the EMR. When it expires, you must enter a new one.',
    fields: ['bearer_token'],
  },
];

/**
 * The ways that the server's discovery document allows. A list that the document does not contain allows everything. A
 * token issued by hand needs no document.
 */
export function offeredWays(authority: AuthorizationServer): string[] {
  const { authorization_endpoint, auth_methods = [], grant_types = [], smart_capabilities = [] } = authority;
  const grants = (type: string) => grant_types.length === 0 || grant_types.includes(type);
  const authenticates = (methods: string[], capability: string) =>
    auth_methods.length === 0 ||
    methods.some((method) => auth_methods.includes(method)) ||
    smart_capabilities.includes(capability);
  const offered: Record<string, boolean> = {
    backend_services:
      grants('client_credentials') && authenticates(['private_key_jwt'], 'client-confidential-asymmetric'),
    client_secret:
      grants('client_credentials') &&
      authenticates(['client_secret_basic', 'client_secret_post'], 'client-confidential-symmetric'),
    authorization_code: authorization_endpoint !== undefined && grants('authorization_code'),
    bearer_token: true,
  };
  return sign_in_ways.map(({ name }) => name).filter((name) => offered[name]);
}
