import type { CredentialField, SignInWay } from '../../connector.ts';

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
