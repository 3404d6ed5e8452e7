import { Type } from 'typebox';
import { connectors } from '../../emr/index.ts';
import { requireOrganization } from '../../http/auth/limitedSecrets.ts';
import { endpoint } from '../../http/endpoint.ts';
import { secret, success } from '../../model/fields.ts';
import { LinkTokenRequest, ListedPractice, PracticeQuery, TokenResponse } from '../../model/link.ts';
import type { Context } from '../../product/context.ts';
import { findApps, searchPractices } from '../../product/directory/searchPractices.ts';
import { createLinkToken } from '../../product/link/linkTokens.ts';
import { describeLinkToken } from '../../product/link/linkView.ts';
import { exchangePublicToken } from '../../product/link/publicTokens.ts';

export const linkTokenCreate = endpoint({
  id: 'link.token.create',
  surface: 'api',
  group: 'Link',
  method: 'POST',
  path: '/link/token/create',
  auth: 'client',
  limited_secrets: { organization: 'checked_by_handler' },
  summary: 'Create a link token',
  description:
    'Opens Link for a new account or, with `access_token`, to re-link an existing one. `emr_name` and `emr_instance_domain` are required for the first user of an organization, or `practice_id` from the directory. With none of these and a directory, Link asks the person to find the practice. The token can be used once, within 30 minutes.',
  body: LinkTokenRequest,
  response: TokenResponse,
  errors: [
    'personal_user_id',
    'emr_name_unknown',
    'emr_name_mismatch',
    'emr_domain_mismatch',
    'emr_domain_invalid',
    'emr_app_not_found',
    'emr_app_mismatch',
    'emr_app_required',
    'emr_app_unregistered',
    'search_params_mismatch',
    'search_params_need_app',
    'search_params_required',
    'practice_not_found',
    'practice_and_emr',
    'practice_mismatch',
    'callback_url_unregistered',
    'update_mode_user_not_found',
  ],
  example: { response: { success: true, token: 'lt_EXAMPLE-EXAMPLE-EXAMPLE-EXAMPLE-EXAMPLE-EXA' } },
  handle: async ({ ctx, client, limited_to, body, inTransaction, auditSubject }) => {
    requireOrganization(limited_to, body.org_id);
    return inTransaction(async (tx) => {
      const token = await createLinkToken(ctx, tx, { client, request: body });
      auditSubject({ detail: await describeLinkToken(tx, token) });
      return { success: true, token };
    });
  },
});

export const linkTokenExchange = endpoint({
  id: 'link.token.exchange',
  surface: 'api',
  group: 'Link',
  method: 'GET',
  path: '/link/token/exchange',
  head: false,
  auth: 'client',
  limited_secrets: { organization: 'checked_by_handler' },
  summary: 'Exchange a public token for an access token',
  returns_secret: true,
  query: Type.Object({ public_token: secret() }),
  response: TokenResponse,
  errors: ['public_token_invalid'],
  found_in: { public_token: 'POST /sandbox/public_token/create#/public_token' },
  handle: async ({ ctx, client, limited_to, query }) => ({
    success: true,
    token: await exchangePublicToken(ctx, client.id, query.public_token, ({ org_id }) =>
      requireOrganization(limited_to, org_id),
    ),
  }),
});

export const linkEmrsList = endpoint({
  id: 'link.emrs.list',
  surface: 'api',
  group: 'Link',
  method: 'GET',
  path: '/link/emrs',
  auth: 'client',
  audited: false,
  summary: 'List supported EMRs',
  agent_tool: 'list_emrs',
  response: Type.Object({
    success,
    emrs: Type.Array(
      Type.Object(
        {
          emr_name: Type.String(),
          display_name: Type.String({ description: 'Display name of the EMR' }),
          credential_fields: Type.Array(
            Type.Object(
              {
                name: Type.String({ description: 'Name of the field in `credentials`' }),
                label: Type.String({ description: 'Label for people' }),
                secret: Type.Boolean({ description: 'Whether the value is a secret' }),
              },
              { schema_name: 'EmrCredentialField', description: 'A field of a sign-in form' },
            ),
            { description: 'The fields that a person fills in to sign in' },
          ),
          sign_in_ways: Type.Optional(
            Type.Array(
              Type.Object(
                {
                  name: Type.String({ description: 'Value of `credentials.way`' }),
                  label: Type.String({ description: 'Label for people' }),
                  fields: Type.Array(Type.String(), { description: 'The credential fields that this method needs' }),
                },
                { schema_name: 'EmrSignInWay', description: 'A sign-in method of an EMR' },
              ),
              {
                description: 'Sign-in methods. If there are several, `credentials.way` names the one to use',
              },
            ),
          ),
          capabilities: Type.Array(Type.String(), { description: 'Operations that the connector supports' }),
        },
        { schema_name: 'Emr', description: 'An EMR product that accounts can be linked with' },
      ),
      { description: 'The supported EMRs' },
    ),
  }),
  example: { response: describeEmrs(connectors) },
  handle: async ({ ctx }) => describeEmrs(ctx.connectors),
});

export const linkDirectorySearch = endpoint({
  id: 'link.directory.search',
  surface: 'api',
  group: 'Link',
  method: 'GET',
  path: '/link/directory',
  auth: 'client',
  quota: 'directory_searches',
  // What vendors publish about practices: nothing of a client or a patient.
  audited: false,
  summary: 'Find a practice',
  description:
    'Searches the directory of practices that the operator imported. Returns up to 20 practices, best match first: the whole name, the start of the name, words of the name, another name, then parent and city.',
  query: PracticeQuery,
  response: Type.Object({
    success,
    practices: Type.Array(ListedPractice, { description: 'The practices, best match first' }),
  }),
  example: { query: { query: 'cedar grove' } },
  handle: async ({ ctx, client, query }) => {
    const practices = await searchPractices(ctx, client.id, query);
    const apps = await findApps(ctx, client.id, practices);
    return {
      success: true,
      practices: practices.map(({ id, name, aliases, city, state, parent, connector }, at) => ({
        ...{ id, name, aliases, city, state, parent },
        ...{ emr_name: connector, emr_app_id: apps[at] ?? null },
      })),
    };
  },
});

function describeEmrs(connectors: Context['connectors']) {
  return {
    success: true,
    emrs: [...connectors.values()].map((connector) => ({
      emr_name: connector.name,
      display_name: connector.display_name,
      credential_fields: connector.credential_fields.map(({ name, label, secret }) => ({ name, label, secret })),
      ...(connector.sign_in_ways && {
        sign_in_ways: connector.sign_in_ways.map(({ name, label, fields }) => ({ name, label, fields: [...fields] })),
      }),
      capabilities: [...connector.capabilities],
    })),
  };
}
