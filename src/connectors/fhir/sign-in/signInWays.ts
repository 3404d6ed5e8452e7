import type { CredentialField, SignInWay } from '../../connector.ts';

/** The fields of all ways. `off` keeps browsers from suggesting a user name as client ID. */
export const credential_fields: readonly CredentialField[] = [
  { name: 'client_id', label: 'Client ID', secret: false, autocomplete: 'off' },
  { name: 'client_secret', label: 'Client secret', secret: true, autocomplete: 'off' },
  { name: 'app_secret', label: 'Client secret, if there is one', secret: true, autocomplete: 'off', optional: true },
  { name: 'bearer_token', label: 'Bearer token', secret: true, autocomplete: 'off' },
];

/** In order of preference: the first two need no person to renew. */
export const sign_in_ways: readonly SignInWay[] = [
  {
    name: 'backend_services',
    label: 'Signed by key (SMART backend services)',
    about: 'The EMR knows this service by its public keys. No secret is exchanged.',
    fields: ['client_id'],
    tells: 'key_set',
  },
  {
    name: 'client_secret',
    label: 'Client ID and secret',
    about: 'The EMR’s administrator has given you a client ID and a secret for this service.',
    fields: ['client_id', 'client_secret'],
  },
  {
    name: 'authorization_code',
    label: 'Sign in on the EMR’s own page',
    about: 'A window of the EMR opens, and you sign in there as yourself.',
    fields: ['client_id', 'app_secret'],
    tells: 'return_address',
    on_page: true,
  },
  {
    name: 'bearer_token',
    label: 'Bearer token',
    about: 'A token that the EMR gave out. When it ends, it has to be replaced by hand.',
    fields: ['bearer_token'],
  },
];
