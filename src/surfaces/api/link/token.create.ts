import { endpoint } from '../../../http/endpoint.ts';
import { LinkTokenRequest, TokenResponse } from '../../../model/link.ts';
import { createLinkToken } from '../../../product/link/linkTokens.ts';
import { describeLinkToken } from '../../../product/link/linkView.ts';

export default endpoint({
  id: 'link.token.create',
  surface: 'api',
  group: 'Link',
  method: 'POST',
  path: '/link/token/create',
  auth: 'client',
  summary: 'Create a link token',
  description:
    'Opens Link for a new account or, with `access_token`, to re-link an existing one. `emr_name` and `emr_instance_domain` are required for the first user of an organization. The token can be used once, within 30 minutes.',
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
    'callback_url_unregistered',
    'update_mode_user_not_found',
  ],
  example: { response: { success: true, token: 'lt_EXAMPLE-EXAMPLE-EXAMPLE-EXAMPLE-EXAMPLE-EXA' } },
  handle: ({ ctx, client, body, inTransaction, auditSubject }) =>
    inTransaction(async (tx) => {
      const token = await createLinkToken(ctx, tx, client, body);
      auditSubject({ detail: await describeLinkToken(tx, token) });
      return { success: true, token };
    }),
});
