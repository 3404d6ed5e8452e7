import { Type } from 'typebox';
import { type Endpoint, endpoint } from '../../http/endpoint.ts';
import { read_subjects, write_subjects } from '../../model/consents.ts';
import { credential_max, nullable, secret, success } from '../../model/fields.ts';
import { findClient } from '../../product/clients/clients.ts';
import { requireEmr } from '../../product/link/linkTokens.ts';
import { describeLink } from '../../product/link/linkView.ts';
import { describeForPractice, signInForPractice, startPracticeEntry } from '../../product/link/practicePage.ts';
import { endPracticeSessions, redeemPass } from '../../product/link/practiceSessions.ts';
import { unlinkAccount } from '../../product/link/unlinkAccount.ts';
import { LinkSession, ShownClient } from './schema.ts';

const token = secret({ maxLength: 100 });

/** The practice page's own API: for people of a practice, who have no account here. Not part of the public API. */
export const practice_endpoints: readonly Endpoint[] = [
  endpoint({
    id: 'practice.session.create',
    surface: 'link_page',
    method: 'POST',
    path: '/practice/v1/session',
    auth: 'none',
    summary: 'Start a session with the one-time link that Link shows',
    body: Type.Object({ pass: token }),
    response: Type.Object({ success, session: Type.String() }),
    returns_secret: true,
    errors: ['practice_pass_invalid'],
    handle: async ({ ctx, body, address }) => ({
      success: true,
      session: await redeemPass(ctx, body.pass, { address }),
    }),
  }),

  endpoint({
    id: 'practice.entry.create',
    surface: 'link_page',
    method: 'POST',
    path: '/practice/v1/entry',
    auth: 'none',
    // Each one leads to sign-ins at an EMR.
    cost: 10,
    summary: 'Start a sign-in at the EMR of an account',
    body: Type.Object({ account: Type.String({ maxLength: 64 }) }),
    response: Type.Object({
      success,
      state: Type.Enum(['sign_in', 'unlinked', 'no_sign_in']),
      /** A link token with which nothing can be linked. */
      token: nullable(Type.String()),
    }),
    returns_secret: true,
    errors: ['practice_page_unknown', 'practice_page_exhausted'],
    handle: async ({ ctx, body }) => ({ success: true, ...(await startPracticeEntry(ctx, body.account)) }),
  }),

  endpoint({
    id: 'practice.sign-in.get',
    surface: 'link_page',
    method: 'GET',
    path: '/practice/v1/sign-in',
    auth: 'link',
    practice_page: 'only',
    // It asks the EMR.
    cost: 10,
    summary: 'Retrieve what the sign-in of the practice page shows',
    response: LinkSession,
    handle: async ({ ctx, client, link }) => {
      const branding = await findClient(ctx, client.id);
      return {
        success: true,
        ...(await describeLink(ctx, requireEmr(link.purpose))),
        ...{ finds_practice: false, consent: null, expires_at: link.expires_at, resumable: false },
        client: { name: client.name, logo: branding?.logo ?? null, colour: branding?.colour ?? null },
      };
    },
  }),

  endpoint({
    id: 'practice.sign-in.create',
    surface: 'link_page',
    method: 'POST',
    path: '/practice/v1/sign-in',
    auth: 'link',
    practice_page: 'only',
    summary: 'Sign in to the EMR and start a session',
    body: Type.Object({
      credentials: Type.Record(Type.String(), secret({ maxLength: credential_max })),
      one_time_code: Type.Optional(secret({ maxLength: 20 })),
    }),
    response: Type.Object({ success, session: Type.String() }),
    returns_secret: true,
    errors: ['practice_page_other_user'],
    handle: async ({ ctx, client, link, body, auditSubject, recordInTransaction }) => {
      const { credentials, one_time_code } = body;
      const { startSession } = await signInForPractice(ctx, { client_id: client.id }, link.token, {
        credentials,
        one_time_code,
      });
      return ctx.db.tenant(client.id, async (tx) => {
        const { session, account_id } = await startSession(tx);
        auditSubject({ subject: account_id });
        await recordInTransaction(tx);
        return { success: true, session };
      });
    },
  }),

  endpoint({
    id: 'practice.account.get',
    surface: 'link_page',
    method: 'GET',
    path: '/practice/v1/account',
    auth: 'practice',
    // It counts the records of the practice.
    cost: 5,
    summary: 'Retrieve what is linked, and what was read and written',
    response: Type.Object({
      success,
      client: ShownClient,
      account_id: Type.String(),
      status: Type.Enum(['active', 'login_required', 'revoked']),
      organization: Type.String(),
      emr: Type.String(),
      emr_address: Type.String(),
      emr_user: Type.String(),
      linked_at: Type.String(),
      unlinked_at: nullable(Type.String()),
      used_at: nullable(Type.String()),
      read_at: nullable(Type.String()),
      records: Type.Array(Type.Object({ subject: Type.Enum([...read_subjects]), count: Type.Integer() })),
      /** The number of days that `written` covers. */
      counted_days: Type.Integer(),
      written: Type.Array(Type.Object({ subject: Type.Enum([...write_subjects]), count: Type.Integer() })),
      writes: Type.Array(
        Type.Object({
          subject: Type.Enum([...write_subjects]),
          requested_at: Type.String(),
          state: Type.Enum(['waiting', 'saved', 'partly_saved', 'not_saved', 'unclear']),
        }),
      ),
    }),
    handle: async ({ ctx, client, practice, auditSubject }) => {
      auditSubject({ subject: practice.account_id });
      const branding = await findClient(ctx, client.id);
      return {
        success: true,
        client: { name: client.name, logo: branding?.logo ?? null, colour: branding?.colour ?? null },
        ...(await describeForPractice(ctx, practice)),
      };
    },
  }),

  endpoint({
    id: 'practice.account.unlink',
    surface: 'link_page',
    method: 'POST',
    path: '/practice/v1/unlink',
    auth: 'practice',
    summary: 'Unlink the account; its access token is revoked and waiting jobs fail',
    body: Type.Object({}),
    response: Type.Object({ success, waiting_jobs: Type.Integer() }),
    handle: async ({ ctx, client, practice, auditSubject, inTransaction }) => {
      auditSubject({ subject: practice.account_id });
      const response = await inTransaction(async (tx) => ({
        success: true,
        waiting_jobs: await unlinkAccount(ctx, tx, practice.account_id),
      }));
      ctx.lookups.clear();
      ctx.notifications.notify('chartwire_jobs', client.id);
      return response;
    },
  }),

  endpoint({
    id: 'practice.session.end',
    surface: 'link_page',
    method: 'POST',
    path: '/practice/v1/sign-out',
    auth: 'practice',
    summary: 'End the sessions of the account',
    body: Type.Object({}),
    response: Type.Object({ success }),
    handle: async ({ practice, inTransaction }) =>
      inTransaction(async (tx) => {
        await endPracticeSessions(tx, practice.account_id);
        return { success: true };
      }),
  }),
];
