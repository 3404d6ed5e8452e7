import { type Static, Type } from 'typebox';
import { choices, id, nullable, ownId, secret, success, text } from './fields.ts';

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
    search_params: Type.Optional(
      Type.Record(Type.String({ maxLength: 64 }), Type.String({ minLength: 1, maxLength: 500 }), {
        maxProperties: 10,
        description:
          'Search parameters that name the practice, where all practices of an EMR share one address. Those that the EMR app leaves open. Part of the identity of a new organization',
      }),
    ),
    practice_id: Type.Optional(
      text({
        description:
          'Practice from GET /link/directory, instead of `emr_name` and `emr_instance_domain`. With none of them, Link asks a new organization to find its practice, if the installation has a directory',
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

/** Nobody types a longer name. */
export const practice_query_max = 200;

export const PracticeQuery = Type.Object({
  query: text({
    maxLength: practice_query_max,
    description: 'Words of the practice’s name, another name, its parent or its city. Each may be the start of a word',
  }),
  state: Type.Optional(text({ maxLength: 50, description: 'State, by name or two-letter code' })),
});

export const ListedPractice = Type.Object(
  {
    id: { ...id, description: 'ID for `practice_id` of POST /link/token/create' },
    name: Type.String({ description: 'Name of the practice', examples: ['Cedar Grove Family Medicine'] }),
    aliases: Type.Array(Type.String({ examples: ['Cedar Grove Clinic'] }), { description: 'Other names' }),
    city: nullable(Type.String(), { description: 'City', examples: ['Portland'] }),
    state: nullable(Type.String(), { description: 'Two-letter code of the state', examples: ['OR'] }),
    parent: nullable(Type.String(), {
      description: 'Name of the organization that the practice belongs to',
      examples: ['Cedar Grove Health'],
    }),
    emr_name: Type.String({ description: 'Name of the EMR product, as in GET /link/emrs' }),
    emr_app_id: nullable(Type.String(), {
      description:
        'Your EMR app whose hosts include the address of the practice. Without one, Link shows the practice as not available',
    }),
  },
  { schema_name: 'Practice', description: 'A practice of the directory' },
);
