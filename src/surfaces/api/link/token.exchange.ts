import { Type } from 'typebox';
import { endpoint } from '../../../http/endpoint.ts';
import { secret } from '../../../model/fields.ts';
import { TokenResponse } from '../../../model/link.ts';
import { exchangePublicToken } from '../../../product/link/publicTokens.ts';

export default endpoint({
  id: 'link.token.exchange',
  surface: 'api',
  group: 'Link',
  method: 'GET',
  path: '/link/token/exchange',
  head: false,
  auth: 'client',
  summary: 'Exchange a public token for an access token',
  query: Type.Object({ public_token: secret() }),
  response: TokenResponse,
  errors: ['public_token_invalid'],
  found_in: { public_token: 'POST /sandbox/public_token/create#/public_token' },
  handle: async ({ ctx, client, query }) => ({
    success: true,
    token: await exchangePublicToken(ctx, client.id, query.public_token),
  }),
});
