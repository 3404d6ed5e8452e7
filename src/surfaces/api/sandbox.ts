import { Type } from 'typebox';
import { endpoint } from '../../http/endpoint.ts';
import { credential_max, secret, success } from '../../model/fields.ts';
import { completeLink, signInForLink } from '../../product/link/publicTokens.ts';

/** Links an account without a browser, for automated tests. The EMR sign-in is a real one. */
export const sandboxPublicTokenCreate = endpoint({
  id: 'sandbox.public_token.create',
  surface: 'api',
  group: 'Sandbox',
  method: 'POST',
  path: '/sandbox/public_token/create',
  auth: 'client',
  sandbox: true,
  summary: 'Create a public token without a browser',
  description:
    'Signs in to the EMR with the given credentials and returns the public token that Link would return. Requires an unused `link_token`.',
  body: Type.Object(
    {
      link_token: secret(),
      credentials: Type.Optional(
        Type.Record(Type.String(), secret({ maxLength: credential_max }), {
          description: "The connector's credential fields; in update mode only those that have changed",
          examples: [{ username: 'avery', password: 'EXAMPLE' }],
        }),
      ),
      one_time_code: Type.Optional(secret({ maxLength: 20, examples: ['123456'] })),
    },
    { schema_name: 'SandboxPublicTokenCreate', description: 'A sign-in without a browser' },
  ),
  response: Type.Object({ success, public_token: Type.String() }),
  errors: [
    'link_token_invalid',
    'link_exhausted',
    'emr_credentials_wrong',
    'emr_code_required',
    'emr_code_wrong',
    'emr_locked',
    'emr_access_refused',
    'emr_client_refused',
    'emr_secret_refused',
    'emr_key_refused',
    'emr_scope_refused',
    'emr_method_refused',
    'emr_no_records',
    'emr_page_required',
    'emr_sign_in_refused',
    'emr_host_not_found',
    'emr_address_wrong',
    'emr_user_mismatch',
    'emr_unavailable',
  ],
  found_in: {
    link_token: 'POST /link/token/create#/token',
    credentials: 'sandbox#/credentials',
    one_time_code: 'sandbox#/one_time_code',
  },
  handle: async ({ ctx, client, body, inTransaction }) => {
    const { credentials = {}, one_time_code } = body;
    const sign_in = { credentials, one_time_code, key_without_app: true };
    const person = await signInForLink(ctx, client.id, body.link_token, sign_in).catch((error: unknown) => ({ error }));
    const response = await inTransaction(async (tx) => {
      // Thrown here, inside inTransaction: a repeated request finds its link token used but gets the first response.
      if ('error' in person) throw person.error;
      const { public_token } = await completeLink(ctx, tx, body.link_token, person);
      return { success: true, public_token };
    });
    ctx.lookups.clear();
    ctx.notifications.notify('chartwire_jobs', client.id);
    return response;
  },
});
