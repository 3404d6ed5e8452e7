import { Type } from 'typebox';
import { endpoint } from '../http/endpoint.ts';
import { completeLink, signInForLink } from '../link/completeLink.ts';
import type { LinkPurpose } from '../link/linkTokens.ts';
import { credential_max, success, text } from '../model/fields.ts';

/** The person's sign-in at the EMR. Everything is sent at once: no state is kept between the password and the code. */
export default endpoint({
  id: 'link.sign-in.create',
  method: 'POST',
  path: '/link/v1/sign-in',
  auth: 'link',
  summary: 'Sign a person in at the EMR and link the account',
  body: Type.Object({
    credentials: Type.Record(Type.String(), text({ maxLength: credential_max })),
    one_time_code: Type.Optional(text({ maxLength: 20 })),
  }),
  response: Type.Object({
    success,
    /** null for a link made in the dashboard: it ends there. */
    public_token: Type.Union([Type.String(), Type.Null()]),
    /** Where the hosted page goes now. */
    return_to: Type.Union([Type.String(), Type.Null()]),
  }),
  handle: async ({ ctx, client, link, body }) => {
    const given = { credentials: body.credentials, one_time_code: body.one_time_code };
    const person = await signInForLink(ctx, client.id, link.token, given);
    const token = await ctx.db.tenant(client.id, (tx) => completeLink(ctx, tx, link.token, person));
    ctx.lookups.clear();
    ctx.notifications.notify('chartwire_jobs');
    const public_token = link.purpose.made_in === 'dashboard' ? null : token;
    return { success: true, public_token, return_to: returnTo(link.purpose, public_token) };
  },
});

/** The registered address with the token behind its own query. It is written as it was registered, not parsed anew. */
function returnTo({ callback_url }: LinkPurpose, public_token: string | null): string | null {
  if (callback_url === null || public_token === null) return null;
  const [address = '', ...fragment] = callback_url.split('#');
  const query = `${address.includes('?') ? '&' : '?'}token=${public_token}`;
  return [address + query, ...fragment].join('#');
}
