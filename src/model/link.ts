import { type Static, Type } from 'typebox';
import { success, text } from './fields.ts';

export const LinkTokenRequest = Type.Object({
  user_id: text({ description: 'Your id of the end user. Not an e-mail address, not a phone number.' }),
  org_id: text({ description: "Your id of the user's organization" }),
  emr_name: Type.Optional(text({ description: 'Required for the first user of a new organization' })),
  emr_instance_domain: Type.Optional(
    text({ description: 'Address of the EMR instance. Required for the first user of a new organization' }),
  ),
  access_token: Type.Optional(text({ description: 'Update mode: the access token of the account to link again' })),
  callback_url: Type.Optional(text({ description: 'Where the hosted page returns to; must be registered' })),
  language: Type.Optional(Type.Enum(['en', 'es'])),
});
export type LinkTokenRequest = Static<typeof LinkTokenRequest>;

export const TokenAnswer = Type.Object({
  success,
  token: Type.String({ examples: ['EXAMPLE-EXAMPLE-EXAMPLE-EXAMPLE-EXAMPLE-EXAM'] }),
});
