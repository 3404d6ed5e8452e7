import { type Static, Type } from 'typebox';
import { choices, ownId, secret, success, text } from './fields.ts';

export const LinkTokenRequest = Type.Object(
  {
    user_id: ownId('Your ID for the end user. Do not use an email address or a phone number.'),
    org_id: ownId('Your ID for the user’s organization'),
    emr_name: Type.Optional(
      text({
        description: 'Name of the EMR product, from GET /link/emrs. Required for the first user of a new organization',
      }),
    ),
    emr_instance_domain: Type.Optional(
      text({ description: 'URL of the EMR instance. Required for the first user of a new organization' }),
    ),
    emr_app_id: Type.Optional(
      text({
        description:
          'EMR app to sign in with, configured by an owner. By default the one whose hosts include the EMR’s. With it, `emr_name` of a new organization may be omitted',
      }),
    ),
    access_token: Type.Optional(secret({ description: 'Update mode: access token of the account to re-link' })),
    callback_url: Type.Optional(
      text({ description: 'URL to which the hosted page redirects; must be registered for the client' }),
    ),
    language: Type.Optional(
      choices({ en: 'English', es: 'Spanish' }, { description: 'Language of Link. Default: the browser’s' }),
    ),
  },
  { schema_name: 'LinkTokenCreate', description: 'The user to link, and the EMR' },
);
export type LinkTokenRequest = Static<typeof LinkTokenRequest>;

export const TokenResponse = Type.Object(
  {
    success,
    token: Type.String({
      description: 'The link token, or the access token in exchange for a public token',
      examples: ['EXAMPLE-EXAMPLE-EXAMPLE-EXAMPLE-EXAMPLE-EXAM'],
    }),
  },
  { schema_name: 'Token', description: 'A token' },
);
