import { type Static, Type } from 'typebox';
import { success, text } from './fields.ts';

export const LinkTokenRequest = Type.Object({
  user_id: text({ description: 'Your id of the end user. Do not use an email address or a phone number.' }),
  org_id: text({ description: "Your id of the user's organization" }),
  emr_name: Type.Optional(text({ description: 'Required for the first user of a new organization' })),
  emr_instance_domain: Type.Optional(
    text({ description: 'Address of the EMR instance. Required for the first user of a new organization' }),
  ),
  access_token: Type.Optional(text({ description: 'Update mode: access token of the account to re-link' })),
  callback_url: Type.Optional(text({ description: 'Where the hosted page redirects to; must be registered' })),
  language: Type.Optional(Type.Enum(['en', 'es'])),
});
export type LinkTokenRequest = Static<typeof LinkTokenRequest>;

export const TokenResponse = Type.Object({
  success,
  token: Type.String({ examples: ['EXAMPLE-EXAMPLE-EXAMPLE-EXAMPLE-EXAMPLE-EXAM'] }),
});
