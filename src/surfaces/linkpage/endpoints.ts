import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import { apiError } from '../../catalog/errors.ts';
import { version } from '../../catalog/version.ts';
import { type Endpoint, endpoint } from '../../http/endpoint.ts';
import { credential_max, nullable, secret, success } from '../../model/fields.ts';
import { findClient } from '../../product/clients/clients.ts';
import { giveConsent, offerConsent, requireConsent } from '../../product/link/linkConsents.ts';
import type { LinkPurpose } from '../../product/link/linkTokens.ts';
import { describeLink, toTerms } from '../../product/link/linkView.ts';
import { finishPageSignIn, readPageState, startPageSignIn } from '../../product/link/pageSignIns.ts';
import { completeLink, signInForLink } from '../../product/link/publicTokens.ts';

const credentials = Type.Record(Type.String(), secret({ maxLength: credential_max }));

/** The consent step has about 1,000 characters. */
const consent_text_max = 8000;

/** The Link page's own API. It is not part of the public API and may change with the page. */
export const link_endpoints: readonly Endpoint[] = [
  endpoint({
    id: 'link.session.get',
    surface: 'link_page',
    method: 'GET',
    path: '/link/v1/session',
    auth: 'link',
    summary: 'Retrieve what the Link page shows',
    response: Type.Object({
      success,
      /** How people know the EMR: the name of its app, its own, or the server's host. */
      emr: Type.String(),
      /** The EMR product, or the standard that its server follows. */
      product: Type.String(),
      /** Set if an operator configured the sign-in: Link requests only what is missing. */
      app: nullable(Type.Object({ logo: nullable(Type.String()) })),
      organization: Type.String(),
      emr_host: Type.String(),
      /** Host and path. */
      emr_address: Type.String(),
      /** Set if nobody can sign in at this address: then there is nothing to agree to either. */
      problem: nullable(Type.Object({ code: Type.String(), host: Type.String(), reason: Type.String() })),
      /** What will be read and changed. `known`: as stated by this server. */
      access: Type.Object({
        known: Type.Boolean(),
        reads: Type.Array(Type.String()),
        writes: Type.Array(Type.String()),
      }),
      consent: nullable(Type.Object({ terms_id: Type.String(), required: Type.Boolean() })),
      update: Type.Boolean(),
      fields: Type.Array(
        Type.Object({
          name: Type.String(),
          label: Type.String(),
          secret: Type.Boolean(),
          autocomplete: Type.String(),
          optional: Type.Boolean(),
          known: Type.Boolean(),
          value: nullable(Type.String()),
        }),
      ),
      /** The sign-in methods to choose from; empty if there is only one. */
      ways: Type.Array(
        Type.Object({
          name: Type.String(),
          label: Type.String(),
          about: Type.String(),
          fields: Type.Array(Type.String()),
          on_page: Type.Boolean(),
          /** The host of the page, or of the server, that receives what the person enters. */
          sign_in_host: Type.String(),
          tells: nullable(Type.Object({ what: Type.String(), value: Type.String() })),
        }),
      ),
      /** The sign-in method of the account that is being re-linked. */
      way: nullable(Type.String()),
      resend_code: Type.Boolean(),
      code_digits: nullable(Type.Integer()),
      /** Where the sandbox EMR shows one-time codes. */
      codes_page: nullable(Type.String()),
      language: nullable(Type.String()),
      returns: Type.Boolean(),
      client: Type.Object({ name: Type.String(), logo: nullable(Type.String()), colour: nullable(Type.String()) }),
    }),
    handle: async ({ ctx, client, link }) => {
      const branding = await findClient(ctx, client.id);
      const described = await describeLink(ctx, link.purpose);
      const terms = toTerms(client.name, link.purpose, described);
      return {
        success: true,
        ...described,
        consent: described.problem ? null : await ctx.db.tenant(client.id, (tx) => offerConsent(tx, link, terms)),
        client: { name: client.name, logo: branding?.logo ?? null, colour: branding?.colour ?? null },
      };
    },
  }),

  endpoint({
    id: 'link.consent.create',
    surface: 'link_page',
    method: 'POST',
    path: '/link/v1/consent',
    auth: 'link',
    summary: 'Record that the person agreed to what the page shows',
    body: Type.Object({
      terms_id: Type.String({ pattern: '^[0-9a-f]{64}$' }),
      language: Type.Union([Type.Literal('en'), Type.Literal('es')]),
      /** The words on the page. */
      text: Type.String({ minLength: 1, maxLength: consent_text_max }),
    }),
    response: Type.Object({ success }),
    errors: ['consent_outdated'],
    handle: async ({ ctx, client, link, body, auditSubject, recordInTransaction }) => {
      await ctx.db.tenant(client.id, async (tx) => {
        const shown = { language: body.language, shown_text: body.text };
        const terms = await giveConsent(tx, link.token, body.terms_id, shown);
        if (!terms) throw apiError('consent_outdated');
        const text_sha256 = createHash('sha256').update(body.text).digest('hex');
        auditSubject({ detail: { ...terms, language: body.language, text_sha256, version } });
        await recordInTransaction(tx);
      });
      return { success: true };
    },
  }),

  // Password and one-time code are sent together, so that no state is kept between the two.
  endpoint({
    id: 'link.sign-in.create',
    surface: 'link_page',
    method: 'POST',
    path: '/link/v1/sign-in',
    auth: 'link',
    summary: 'Sign in to the EMR and link the account',
    body: Type.Object({ credentials, one_time_code: Type.Optional(secret({ maxLength: 20 })) }),
    response: Type.Object({
      success,
      /** Null for a link created in the dashboard, because no application exchanges it. */
      public_token: nullable(Type.String()),
      /** Where the hosted page redirects to. */
      return_to: nullable(Type.String()),
    }),
    errors: ['consent_required'],
    handle: async ({ ctx, client, link, body }) => {
      await requireConsent(ctx, client.id, link.token);
      const input = { credentials: body.credentials, one_time_code: body.one_time_code };
      const signed_in = await signInForLink(ctx, client.id, link.token, input);
      const token = await ctx.db.tenant(client.id, (tx) => completeLink(ctx, tx, link.token, signed_in));
      ctx.lookups.clear();
      ctx.notifications.notify('chartwire_jobs', client.id);
      const public_token = link.purpose.created_in === 'dashboard' ? null : token;
      return { success: true, public_token, return_to: returnUrl(link.purpose, public_token) };
    },
  }),

  // Called by the window that is about to go to the EMR's sign-in page.
  endpoint({
    id: 'link.page-sign-in.create',
    surface: 'link_page',
    method: 'POST',
    path: '/link/v1/oauth/start',
    auth: 'link',
    summary: 'Start a sign-in on the EMR’s own page',
    body: Type.Object({ credentials }),
    response: Type.Object({
      success,
      /** The EMR's sign-in page. */
      url: Type.String(),
      /** A secret that the window must present when it returns. */
      window: Type.String(),
    }),
    errors: ['consent_required', 'consent_outdated'],
    handle: async ({ ctx, client, link, body }) => {
      const { sign_in_hosts } = await requireConsent(ctx, client.id, link.token);
      const started = await startPageSignIn(ctx, link, body.credentials);
      // The server may name another page than when it was shown to the person.
      if (!Object.values(sign_in_hosts).includes(new URL(started.url).host)) throw apiError('consent_outdated');
      return { success: true, ...started };
    },
  }),

  // Needs no authentication: the state in the query and the window's secret have 256 random bits each.
  endpoint({
    id: 'link.page-sign-in.finish',
    surface: 'link_page',
    method: 'POST',
    path: '/link/v1/oauth/finish',
    auth: 'none',
    summary: 'Finish a sign-in on the EMR’s own page',
    body: Type.Object({
      query: secret({ maxLength: 8000 }),
      window: secret(),
      /** The last part of the redirect URI that the EMR's page returned to. */
      callback_id: Type.String({ maxLength: 64 }),
    }),
    response: Type.Object({ success }),
    handle: async ({ ctx, body }) => {
      await finishPageSignIn(ctx, body);
      return { success: true };
    },
  }),

  // Link polls this: the EMR's page may cut every other connection between its window and ours.
  endpoint({
    id: 'link.page-sign-in.get',
    surface: 'link_page',
    method: 'GET',
    path: '/link/v1/oauth/state',
    auth: 'link',
    // Called several times a minute, and only about the caller.
    audited: false,
    summary: 'Retrieve the state of a sign-in on the EMR’s own page',
    response: Type.Object({
      success,
      state: Type.Enum(['none', 'waiting', 'returned', 'signed_in', 'failed']),
      failure: nullable(Type.String()),
      message: nullable(Type.String()),
    }),
    handle: async ({ ctx, client, link }) => ({ success: true, ...(await readPageState(ctx, client.id, link.token)) }),
  }),
];

/** Appends the token to the registered URL without reformatting the URL. */
function returnUrl({ callback_url }: LinkPurpose, public_token: string | null): string | null {
  if (callback_url === null || public_token === null) return null;
  const [url = '', ...fragment] = callback_url.split('#');
  const query = `${url.includes('?') ? '&' : '?'}token=${public_token}`;
  return [url + query, ...fragment].join('#');
}
