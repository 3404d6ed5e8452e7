import { endpoint } from '../../http/endpoint.ts';
import { createLinkToken } from '../../link/createLinkToken.ts';
import { LinkTokenRequest, TokenResponse } from '../../model/link.ts';

export default endpoint({
  id: 'link.token.create',
  method: 'POST',
  path: '/link/token/create',
  auth: 'client',
  summary: 'Make the token with which Link is opened, for a first link or (with access_token) to link again',
  description:
    'The first user of a new organization also needs `emr_name` and `emr_instance_domain`. The token is good for one use within 30 minutes.',
  body: LinkTokenRequest,
  response: TokenResponse,
  errors: [
    'personal_user_id',
    'emr_name_unknown',
    'emr_name_mismatch',
    'emr_domain_mismatch',
    'emr_domain_invalid',
    'callback_url_unregistered',
    'update_mode_user_not_found',
  ],
  example: { answer: { success: true, token: 'lt_EXAMPLE-EXAMPLE-EXAMPLE-EXAMPLE-EXAMPLE-EXA' } },
  handle: ({ ctx, client, body, inTransaction }) =>
    inTransaction(async (tx) => ({ success: true, token: await createLinkToken(ctx, tx, client, body) })),
});
