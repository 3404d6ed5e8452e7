import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import { apiError } from '../../catalog/errors.ts';
import { version } from '../../catalog/version.ts';
import { type Endpoint, endpoint } from '../../http/endpoint.ts';
import { credential_max, nullable, secret, success, text } from '../../model/fields.ts';
import { practice_query_max } from '../../model/link.ts';
import { findClient } from '../../product/clients/clients.ts';
import { giveConsent, offerConsent, requireConsent } from '../../product/link/linkConsents.ts';
import { choosePractice, findForLink } from '../../product/link/linkPractices.ts';
import { type AnyPurpose, type LinkPurpose, requireEmr } from '../../product/link/linkTokens.ts';
import { describeAddress, describeSearch, openLink, toTerms } from '../../product/link/linkView.ts';
import { finishPageSignIn, readPageState, startPageSignIn } from '../../product/link/pageSignIns.ts';
import { addPass } from '../../product/link/practiceSessions.ts';
import { completeLink, signInForLink } from '../../product/link/publicTokens.ts';
import { practice_endpoints } from './practiceEndpoints.ts';
import { LinkSession, ShownPractice } from './schema.ts';

const credentials = Type.Record(Type.String(), secret({ maxLength: credential_max }));

/** The consent step has about 1,000 characters. */
const consent_text_max = 8000;

/** What an owner changed since the link was created may leave the practice without its parameters. */
const practice_params_errors = ['search_params_need_app', 'search_params_required'] as const;

/** The own API of the Link page and of the practice page. It is not part of the public API and may change with the page. */
export const link_endpoints: readonly Endpoint[] = [
  endpoint({
    id: 'link.session.get',
    surface: 'link_page',
    method: 'GET',
    path: '/link/v1/session',
    auth: 'link',
    // It asks the EMR.
    cost: 25,
    summary: 'Retrieve what the Link page shows',
    response: LinkSession,
    handle: async ({ ctx, client, link }) => {
      const branding = await findClient(ctx, client.id);
      const { token, purpose } = link;
      const { finds_practice } = purpose;
      const described = purpose.emr_address === null ? describeSearch(purpose) : await openLink(ctx, token, purpose);
      const offer = (known: LinkPurpose) =>
        ctx.db.tenant(client.id, (tx) =>
          offerConsent(tx, { token, purpose: known }, toTerms(client.name, known, described)),
        );
      return {
        success: true,
        ...described,
        finds_practice,
        consent: described.problem || purpose.emr_address === null ? null : await offer(purpose),
        client: { name: client.name, logo: branding?.logo ?? null, colour: branding?.colour ?? null },
        expires_at: link.expires_at,
        // Otherwise the public token would go to a page that the application does not see.
        resumable: purpose.created_in === 'dashboard' || purpose.callback_url !== null,
      };
    },
  }),

  endpoint({
    id: 'link.practices.list',
    surface: 'link_page',
    method: 'GET',
    path: '/link/v1/practices',
    auth: 'link',
    // Called while the person types, and shows nothing but the directory.
    audited: false,
    summary: 'Find practices in the directory',
    query: Type.Object({ query: text({ maxLength: practice_query_max }) }),
    response: Type.Object({ success, practices: Type.Array(ShownPractice) }),
    errors: ['practice_fixed'],
    handle: async ({ ctx, link, query }) => ({ success: true, practices: await findForLink(ctx, link, query.query) }),
  }),

  endpoint({
    id: 'link.practice.choose',
    surface: 'link_page',
    method: 'POST',
    path: '/link/v1/practice',
    auth: 'link',
    summary: 'Choose the practice to link',
    body: Type.Object({ practice_id: Type.String({ maxLength: 64 }) }),
    response: Type.Object({ success }),
    errors: [
      ...(['practice_fixed', 'practice_not_found', 'practice_unavailable', 'practice_mismatch'] as const),
      ...practice_params_errors,
    ],
    handle: async ({ ctx, client, link, body, auditSubject, recordInTransaction }) => {
      await ctx.db.tenant(client.id, async (tx) => {
        const practice = await choosePractice(ctx, tx, link, body.practice_id);
        const { org_id } = link.purpose;
        const address = await describeAddress(tx, { org_id, emr_address: practice.address });
        auditSubject({ subject: practice.id, detail: address });
        await recordInTransaction(tx);
      });
      return { success: true };
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
      /** What opens the practice page of the account: the pass works once. */
      practice: Type.Object({ account_id: Type.String(), pass: Type.String() }),
    }),
    errors: ['consent_required', ...practice_params_errors],
    handle: async ({ ctx, client, link, body }) => {
      const { emr_address: consented_address } = await requireConsent(ctx, client.id, link.token);
      const input = { credentials: body.credentials, one_time_code: body.one_time_code, consented_address };
      const signed_in = await signInForLink(ctx, client.id, link.token, input);
      const linked = await ctx.db.tenant(client.id, async (tx) => {
        const { public_token, account_id } = await completeLink(ctx, tx, link.token, signed_in);
        const pass = await addPass(tx, { client_id: client.id, account_id });
        return { public_token, practice: { account_id, pass } };
      });
      ctx.lookups.clear();
      ctx.notifications.notify('chartwire_jobs', client.id);
      const public_token = link.purpose.created_in === 'dashboard' ? null : linked.public_token;
      const { practice } = linked;
      return { success: true, public_token, return_to: returnUrl(link.purpose, public_token), practice };
    },
  }),

  // Called by the window that is about to go to the EMR's sign-in page.
  endpoint({
    id: 'link.page-sign-in.create',
    surface: 'link_page',
    method: 'POST',
    path: '/link/v1/oauth/start',
    auth: 'link',
    practice_page: 'too',
    summary: 'Start a sign-in on the EMR’s own page',
    body: Type.Object({ credentials }),
    response: Type.Object({
      success,
      /** The EMR's sign-in page. */
      url: Type.String(),
      /** A secret that the window must present when it returns. */
      window: Type.String(),
    }),
    errors: ['consent_required', 'consent_outdated', ...practice_params_errors],
    handle: async ({ ctx, client, link, body }) => {
      const purpose = requireEmr(link.purpose);
      // The practice page asks for no consent: it links nothing.
      if (purpose.created_in === 'practice_page') {
        return { success: true, ...(await startPageSignIn(ctx, { token: link.token, purpose }, body.credentials)) };
      }
      const { sign_in_hosts, emr_address } = await requireConsent(ctx, client.id, link.token);
      // Another practice was chosen since.
      if (emr_address !== purpose.emr_address) throw apiError('consent_outdated');
      const started = await startPageSignIn(ctx, { token: link.token, purpose }, body.credentials);
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
    practice_page: 'too',
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

  ...practice_endpoints,
];

/** Appends the token to the registered URL without reformatting the URL. */
function returnUrl({ callback_url }: Pick<AnyPurpose, 'callback_url'>, public_token: string | null): string | null {
  if (callback_url === null || public_token === null) return null;
  const [url = '', ...fragment] = callback_url.split('#');
  const query = `${url.includes('?') ? '&' : '?'}token=${public_token}`;
  return [url + query, ...fragment].join('#');
}
