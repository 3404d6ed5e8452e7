import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { readSessionCookie } from '../../../http/auth/authenticateOperator.ts';
import { type Endpoint, type EndpointRequest, endpoint } from '../../../http/endpoint.ts';
import { secret, success, text } from '../../../model/fields.ts';
import type { Tx } from '../../../platform/db/database.ts';
import type { Context } from '../../../product/context.ts';
import { changePassword } from '../../../product/operators/localAccounts.ts';
import { endOperatorSessions, endSessionById, listSessions } from '../../../product/operators/operatorSessions.ts';
import { findOperator, setTotp } from '../../../product/operators/operators.ts';
import {
  deletePasskey,
  listPasskeys,
  passkeyCreationOptions,
  storePasskey,
  verifyNewPasskey,
} from '../../../product/operators/passkeys.ts';
import {
  changeSecondFactors,
  deleteRecoveryCodes,
  enableTotp,
  offerTotp,
  requireCode,
} from '../../../product/operators/secondFactor.ts';
import { passkey_registration, passkey_row, session_row } from './schema.ts';

/** An operator's own account. Every operator has these endpoints, whatever the role. */
const own = { surface: 'dashboard', auth: 'operator', role: 'support', reach: 'own' } as const;

/** Changes of the password or a second factor. */
const own_change = { ...own, method: 'POST', fresh_sign_in: true, local_sign_in: true } as const;

/** Shown once, when the first second factor is set up. Empty if the operator has recovery codes already. */
const recovery_codes = Type.Array(Type.String());

/** A code of the app that is in use, or a recovery code. */
const current_code = secret({ maxLength: 40 });

export const me_endpoints: readonly Endpoint[] = [
  endpoint({
    id: 'dashboard.me.password',
    ...own_change,
    path: '/dashboard/api/me/password',
    while_pending: ['password'],
    summary: 'Change your password and sign out your other sessions',
    body: Type.Object({ new_password: secret({ maxLength: 1000 }) }),
    response: Type.Object({ success }),
    handle: async ({ ctx, headers, operator, body, recordInTransaction }) => {
      const session = readSessionCookie(ctx, headers);
      await changePassword(ctx, operator, recordInTransaction, { password: body.new_password, session });
      endStreams(ctx, operator);
      return { success: true };
    },
  }),
  // The service keeps the secret until a code proves that an app has it.
  endpoint({
    id: 'dashboard.me.totp.offer',
    ...own_change,
    path: '/dashboard/api/me/totp/offer',
    while_pending: ['second_factor'],
    summary: 'Generate a secret for an authenticator app',
    body: Type.Object({}),
    response: Type.Object({ success, secret: Type.String(), uri: Type.String() }),
    handle: async ({ ctx, operator }) => ({
      success: true,
      ...(await ctx.db.system.begin((tx) => offerTotp(ctx, tx, operator))),
    }),
  }),
  endpoint({
    id: 'dashboard.me.totp.on',
    ...own_change,
    path: '/dashboard/api/me/totp',
    while_pending: ['second_factor'],
    summary: 'Turn on codes of an authenticator app, or replace the app, and sign out your other sessions',
    body: Type.Object({ code: secret({ maxLength: 20 }), current_code: Type.Optional(current_code) }),
    response: Type.Object({ success, recovery_codes }),
    errors: ['operator_code_wrong', 'operator_codes_locked', 'totp_offer_missing', 'missing_field'],
    handle: async (request) => {
      const { ctx, operator, body } = request;
      await requireCurrentCode(request, body.current_code);
      const codes = await changeFactors(request, async (tx) => {
        if (!(await enableTotp(ctx, tx, operator.id, body.code)))
          throw apiError('operator_code_wrong', undefined, { field: 'code' });
      });
      return { success: true, recovery_codes: codes };
    },
  }),
  endpoint({
    id: 'dashboard.me.totp.off',
    ...own_change,
    path: '/dashboard/api/me/totp/off',
    summary: 'Turn off codes of an authenticator app and sign out your other sessions',
    body: Type.Object({ current_code: Type.Optional(current_code) }),
    response: Type.Object({ success }),
    errors: ['operator_code_wrong', 'operator_codes_locked', 'missing_field'],
    handle: async (request) => {
      await requireCurrentCode(request, request.body.current_code);
      await changeFactors(request, (tx) => setTotp(tx, request.operator.id, null));
      return { success: true };
    },
  }),
  endpoint({
    id: 'dashboard.me.recovery-codes.create',
    ...own_change,
    path: '/dashboard/api/me/recovery-codes',
    summary: 'Replace your recovery codes; the new ones are shown once',
    body: Type.Object({}),
    response: Type.Object({ success, recovery_codes }),
    errors: ['operator_second_factor_missing'],
    handle: async (request) => {
      const { id, totp, passkeys } = request.operator;
      if (!totp && passkeys === 0) throw apiError('operator_second_factor_missing');
      // An operator with a second factor and without codes gets new ones.
      return { success: true, recovery_codes: await changeFactors(request, (tx) => deleteRecoveryCodes(tx, id)) };
    },
  }),
  endpoint({
    id: 'dashboard.me.passkeys.list',
    ...own,
    method: 'GET',
    path: '/dashboard/api/me/passkeys',
    while_pending: ['second_factor'],
    // No health data, and only the operator's own.
    audited: false,
    summary: 'List your passkeys',
    response: Type.Object({ success, passkeys: Type.Array(passkey_row) }),
    handle: async ({ ctx, operator }) => ({ success: true, passkeys: await listPasskeys(ctx, operator.id) }),
  }),
  endpoint({
    id: 'dashboard.me.passkeys.options',
    ...own_change,
    path: '/dashboard/api/me/passkeys/options',
    while_pending: ['second_factor'],
    summary: 'Start the registration of a passkey',
    body: Type.Object({}),
    response: Type.Object({ success, options: Type.Unknown() }),
    errors: ['passkeys_max', 'passkeys_need_name'],
    handle: async ({ ctx, operator }) => ({ success: true, options: await passkeyCreationOptions(ctx, operator) }),
  }),
  endpoint({
    id: 'dashboard.me.passkeys.create',
    ...own_change,
    path: '/dashboard/api/me/passkeys',
    while_pending: ['second_factor'],
    summary: 'Register a passkey and sign out your other sessions',
    body: Type.Object({ name: text({ minLength: 1, maxLength: 100 }), passkey: passkey_registration }),
    response: Type.Object({ success, recovery_codes }),
    errors: ['passkey_not_registered', 'passkeys_max', 'passkeys_need_name'],
    handle: async (request) => {
      const { ctx, operator, body } = request;
      const passkey = await verifyNewPasskey(ctx, operator.id, body.name, body.passkey);
      return { success: true, recovery_codes: await changeFactors(request, (tx) => storePasskey(tx, passkey)) };
    },
  }),
  endpoint({
    id: 'dashboard.me.passkeys.delete',
    ...own_change,
    method: 'DELETE',
    path: '/dashboard/api/me/passkeys/{id}',
    summary: 'Delete a passkey and sign out your other sessions',
    params: Type.Object({ id: Type.String() }),
    response: Type.Object({ success }),
    errors: ['record_not_found'],
    handle: async (request) => {
      const { operator, params } = request;
      const id = parseId(params.id);
      await changeFactors(request, async (tx) => {
        if (id && (await deletePasskey(tx, operator.id, id))) return;
        throw apiError('record_not_found', { noun: 'Passkey', id: params.id });
      });
      return { success: true };
    },
  }),
  endpoint({
    id: 'dashboard.me.sessions.list',
    ...own,
    method: 'GET',
    path: '/dashboard/api/me/sessions',
    audited: false,
    summary: 'List your sessions',
    response: Type.Object({ success, sessions: Type.Array(session_row) }),
    handle: async ({ ctx, headers, operator }) => ({
      success: true,
      sessions: await listSessions(ctx, operator.id, readSessionCookie(ctx, headers) ?? ''),
    }),
  }),
  endpoint({
    id: 'dashboard.me.sessions.end',
    ...own,
    method: 'DELETE',
    path: '/dashboard/api/me/sessions/{id}',
    summary: 'End one of your sessions',
    params: Type.Object({ id: Type.String() }),
    response: Type.Object({ success }),
    errors: ['record_not_found'],
    handle: async ({ ctx, operator, params, recordInTransaction }) => {
      const id = parseId(params.id);
      await ctx.db.system.begin(async (tx) => {
        if (!id || !(await endSessionById(tx, operator.id, id))) {
          throw apiError('record_not_found', { noun: 'Session', id: params.id });
        }
        await recordInTransaction(tx);
      });
      endStreams(ctx, operator);
      return { success: true };
    },
  }),
  endpoint({
    id: 'dashboard.me.sessions.end-others',
    ...own,
    method: 'POST',
    path: '/dashboard/api/me/sessions/end-others',
    summary: 'End all your other sessions',
    body: Type.Object({}),
    response: Type.Object({ success }),
    handle: async ({ ctx, headers, operator, recordInTransaction }) => {
      await ctx.db.system.begin(async (tx) => {
        await endOperatorSessions(tx, operator.id, readSessionCookie(ctx, headers));
        await recordInTransaction(tx);
      });
      endStreams(ctx, operator);
      return { success: true };
    },
  }),
];

type OwnRequest = Pick<
  EndpointRequest<'operator', undefined, undefined, undefined>,
  'operator' | 'headers' | 'recordInTransaction'
> & { ctx: Context };

/** Who replaces or turns off an authenticator app must have it, or a recovery code. A session alone is not enough. */
async function requireCurrentCode({ ctx, operator }: OwnRequest, code: string | undefined): Promise<void> {
  const stored = operator.totp ? await findOperator(ctx.db.system, operator.email) : undefined;
  if (!stored?.totp_sealed) return;
  const field = 'current_code';
  if (!code) throw apiError('missing_field', { field }, { field });
  await requireCode(ctx, stored, code);
}

/** Changes the caller's second factors, ends the other sessions, and returns new recovery codes if there were none. */
async function changeFactors(request: OwnRequest, change: (tx: Tx) => Promise<void>): Promise<string[]> {
  const { ctx, headers, operator, recordInTransaction } = request;
  const codes = await ctx.db.system.begin(async (tx) => {
    const created = await changeSecondFactors(tx, operator.id, () => change(tx));
    await endOperatorSessions(tx, operator.id, readSessionCookie(ctx, headers));
    await recordInTransaction(tx);
    return created;
  });
  endStreams(ctx, operator);
  return codes;
}

/** Ends the live streams of sessions that have just ended. */
function endStreams(ctx: Context, { id }: { id: string }): void {
  ctx.notifications.notify('chartwire_operators', id);
}
