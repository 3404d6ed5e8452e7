import { isDeepStrictEqual } from 'node:util';
import { type Static, Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { type Endpoint, endpoint, type SecondPerson } from '../../../http/endpoint.ts';
import { immediately, success } from '../../../model/fields.ts';
import { revealToken, rotateToken } from '../../../product/accounts/accessTokens.ts';
import { getAccount } from '../../../product/accounts/accounts.ts';
import { askEmr, checkCapabilities, checkMrnSetting } from '../../../product/accounts/askEmr.ts';
import { requireConnector } from '../../../product/accounts/connectAccount.ts';
import { lockEmrSettings, setEmrSettings } from '../../../product/accounts/organizations.ts';
import { lowerWriteLimits } from '../../../product/accounts/serverFacts.ts';
import type { Context } from '../../../product/context.ts';
import { getReport, listReports } from '../../../product/link/connectionReports.ts';
import { createLinkToken, createRelinkToken, hostedLink, link_minutes } from '../../../product/link/linkTokens.ts';
import { describeLinkToken } from '../../../product/link/linkView.ts';
import { unlinkAccount } from '../../../product/link/unlinkAccount.ts';
import { requestSync, requestSyncForRule } from '../../../product/records/syncPasses.ts';
import { organizationsErase } from '../erasure/endpoints.ts';
import { organization_params, organization_path, requireOrganization } from '../organization.ts';
import { describeOrganizations } from './queries.ts';
import {
  type CreatedLink,
  created_link,
  emr_row,
  emr_settings_changes,
  identifier_sample,
  new_link,
  organization_row,
  report_details,
  report_row,
  type visit_type,
} from './schema.ts';

/** The access token of an account, which gives access to its health data. */
const token_reveal: SecondPerson<unknown> = {
  action: 'credentials',
  returns_secret: true,
  describe: async ({ ctx, client, params }) => {
    if (!client) return undefined;
    const { user_id, org_id } = await ctx.db.tenant(client.id, (tx) => getAccount(tx, String(params.account_id)));
    return `account ${user_id} of practice ${org_id}`;
  },
};

export const accounts_endpoints: readonly Endpoint[] = [
  endpoint({
    id: 'dashboard.accounts.list',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/clients/{client_id}/accounts',
    auth: 'operator_in_client',
    // Account names are not health data.
    audited: false,
    summary: 'List organizations and their linked accounts',
    params: Type.Object({ client_id: Type.String() }),
    response: Type.Object({ success, organizations: Type.Array(organization_row), emrs: Type.Array(emr_row) }),
    handle: async ({ ctx, client }) => ({
      success: true,
      organizations: await describeOrganizations(ctx, client.id),
      emrs: [...ctx.connectors.values()].map(({ name, display_name }) => ({ emr: name, emr_name: display_name })),
    }),
  }),
  endpoint({
    id: 'dashboard.accounts.link',
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/links',
    auth: 'operator_in_client',
    summary: 'Create a link for a new account',
    params: Type.Object({ client_id: Type.String() }),
    body: new_link,
    response: Type.Object({ success, link: created_link }),
    handle: async ({ ctx, client, operator, body, inTransaction, auditSubject }) =>
      inTransaction(async (tx) => {
        const token = await createLinkToken(ctx, tx, { client, request: body, created_by: operator.id });
        auditSubject({ detail: await describeLinkToken(tx, token) });
        return { success: true, link: describeLink(ctx, token) };
      }),
  }),
  endpoint({
    id: 'dashboard.accounts.relink',
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/accounts/{account_id}/relink',
    auth: 'operator_in_client',
    summary: 'Create a link that re-links an account',
    params: Type.Object({ client_id: Type.String(), account_id: Type.String() }),
    body: Type.Pick(new_link, ['language']),
    response: Type.Object({ success, link: created_link }),
    errors: ['record_not_found', 'emr_app_required', 'search_params_need_app', 'search_params_required'],
    handle: async ({ ctx, params, operator, body, inTransaction }) =>
      inTransaction(async (tx) => {
        const account = await getAccount(tx, params.account_id);
        const token = await createRelinkToken(ctx, tx, account, { language: body.language, created_by: operator.id });
        return { success: true, link: describeLink(ctx, token) };
      }),
  }),
  // A POST, so that no cache, history entry or prefetch can reveal a token.
  endpoint({
    id: 'dashboard.accounts.reveal',
    fresh_sign_in: true,
    second_person: token_reveal,
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/accounts/{account_id}/reveal',
    auth: 'operator_in_client',
    role: 'operator',
    summary: 'Reveal the access token of an account',
    params: Type.Object({ client_id: Type.String(), account_id: Type.String() }),
    body: Type.Object({}),
    response: Type.Object({ success, access_token: Type.String() }),
    errors: ['record_not_found', 'account_revoked'],
    handle: async ({ ctx, client, params }) => ({
      success: true,
      access_token: await revealToken(ctx, client.id, params.account_id),
    }),
  }),
  endpoint({
    id: 'dashboard.accounts.rotate',
    fresh_sign_in: true,
    second_person: token_reveal,
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/accounts/{account_id}/rotate-token',
    auth: 'operator_in_client',
    role: 'operator',
    summary:
      'Replace the access token of an account; unless replaced immediately, the old one stays valid for 24 hours',
    params: Type.Object({ client_id: Type.String(), account_id: Type.String() }),
    body: Type.Object({ immediately }),
    response: Type.Object({ success, access_token: Type.String() }),
    errors: ['record_not_found', 'account_revoked'],
    handle: async ({ ctx, params, body, inTransaction, auditSubject }) => {
      auditSubject({ detail: { immediately: body.immediately ?? false } });
      const response = await inTransaction(async (tx) => ({
        success: true,
        access_token: await rotateToken(ctx, tx, params.account_id, body),
      }));
      ctx.lookups.clear();
      return response;
    },
  }),
  endpoint({
    id: 'dashboard.accounts.sync',
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/accounts/{account_id}/sync',
    auth: 'operator_in_client',
    summary: 'Sync an organization through an account',
    params: Type.Object({ client_id: Type.String(), account_id: Type.String() }),
    body: Type.Object({}),
    response: Type.Object({ success, job_id: Type.Integer() }),
    errors: ['record_not_found', 'account_revoked'],
    handle: async ({ ctx, client, params, inTransaction, auditSubject }) => {
      const response = await inTransaction(async (tx) => {
        const account = await getAccount(tx, params.account_id);
        if (account.status === 'revoked') throw apiError('account_revoked');
        const { id, job_id } = await requestSync(ctx, tx, { ...account, account_id: account.id }, { announce: false });
        if (job_id === undefined) throw new Error('A sync without an idempotency key was not queued.');
        auditSubject({ subject: id, job_id });
        return { success: true, job_id };
      });
      ctx.notifications.notify('chartwire_jobs', client.id);
      return response;
    },
  }),
  endpoint({
    id: 'dashboard.accounts.check',
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/accounts/{account_id}/check',
    auth: 'operator_in_client',
    role: 'operator',
    summary: 'Check again what the EMR of an account supports; refused operations are used again',
    params: Type.Object({ client_id: Type.String(), account_id: Type.String() }),
    body: Type.Object({}),
    response: Type.Object({ success }),
    errors: ['record_not_found', 'account_revoked', 'emr_check_refused', 'emr_unavailable'],
    handle: async ({ ctx, client, params, auditSubject }) => {
      const account = await ctx.db.tenant(client.id, (tx) => getAccount(tx, params.account_id));
      if (account.status === 'revoked') throw apiError('account_revoked');
      auditSubject({ subject: account.id });
      await checkCapabilities(ctx, account);
      return { success: true };
    },
  }),
  // A POST, so that no cache, history entry or prefetch can show health data.
  endpoint({
    id: 'dashboard.accounts.identifiers',
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/accounts/{account_id}/identifiers',
    auth: 'operator_in_client',
    role: 'operator',
    summary: 'Read the identifiers of a few patients from the EMR, masked, to tell which one is the MRN',
    params: Type.Object({ client_id: Type.String(), account_id: Type.String() }),
    body: Type.Object({}),
    response: Type.Object({ success, sample: identifier_sample }),
    errors: ['record_not_found', 'account_revoked', 'emr_check_refused', 'emr_unavailable'],
    handle: async ({ ctx, client, params, auditPatients, auditSubject }) => {
      const account = await ctx.db.tenant(client.id, (tx) => getAccount(tx, params.account_id));
      if (account.status === 'revoked') throw apiError('account_revoked');
      auditSubject({ subject: account.id });
      const { patients, mrns, identifiers } = (await askEmr(ctx, account, (opened) => opened.sampleIdentifiers())) ?? {
        patients: 0,
        mrns: [],
        identifiers: [],
      };
      auditPatients(mrns);
      const masked = identifiers.map(({ values, ...each }) => ({ ...each, examples: values.map(mask) }));
      return { success: true, sample: { patients, identifiers: masked } };
    },
  }),
  endpoint({
    id: 'dashboard.emr-settings.update',
    surface: 'dashboard',
    method: 'PATCH',
    path: `${organization_path}/emr-settings`,
    auth: 'operator_in_client',
    role: 'operator',
    summary:
      'Set which identifier is the MRN, how many writes may run in parallel, and the visit types of an EMR that lists none; null restores the default',
    params: organization_params,
    body: emr_settings_changes,
    response: Type.Object({ success }),
    errors: ['no_field', 'record_not_found', 'unsupported_field', 'invalid_field'],
    handle: async ({ ctx, client, params, body, inTransaction, auditSubject }) => {
      const { organization_id } = await requireOrganization(ctx, client, params);
      if (Object.keys(body).length === 0) throw apiError('no_field');
      const response = await inTransaction(async (tx) => {
        const { connector, ...before } = await lockEmrSettings(tx, organization_id);
        const mrn = checkMrnSetting(ctx, connector, { ...before, ...body });
        const { parallel_writes_max, visit_types } = { ...before, ...body };
        if (body.parallel_writes_max) requireMeasured(ctx, connector);
        if (body.visit_types) checkVisitTypes(ctx, connector, body.visit_types);
        await setEmrSettings(tx, organization_id, { ...mrn, parallel_writes_max, visit_types });
        const { measured_max = 1 } = requireConnector(ctx, connector).limits;
        await lowerWriteLimits(tx, organization_id, parallel_writes_max ?? measured_max);
        const has_new_types = !isDeepStrictEqual(visit_types, before.visit_types);
        if (has_new_types || mrn.mrn_system !== before.mrn_system || mrn.mrn_type !== before.mrn_type) {
          await requestSyncForRule(ctx, tx, client.id, { organization_id });
        }
        auditSubject({ subject: organization_id, detail: { ...mrn, parallel_writes_max, visit_types } });
        return { success: true };
      });
      ctx.notifications.notify('chartwire_jobs', client.id);
      return response;
    },
  }),
  endpoint({
    id: 'dashboard.accounts.revoke',
    fresh_sign_in: true,
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/accounts/{account_id}/revoke',
    auth: 'operator_in_client',
    role: 'operator',
    summary: 'Unlink an account; its access token is revoked and waiting jobs fail',
    params: Type.Object({ client_id: Type.String(), account_id: Type.String() }),
    body: Type.Object({}),
    response: Type.Object({ success, waiting_jobs: Type.Integer() }),
    errors: ['record_not_found'],
    handle: async ({ ctx, client, params, inTransaction }) => {
      const response = await inTransaction(async (tx) => ({
        success: true,
        waiting_jobs: await unlinkAccount(ctx, tx, params.account_id),
      }));
      ctx.lookups.clear();
      ctx.notifications.notify('chartwire_jobs', client.id);
      return response;
    },
  }),
  endpoint({
    id: 'dashboard.connection-reports.list',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/clients/{client_id}/connection-reports',
    auth: 'operator_in_client',
    audited: false,
    summary: 'List the latest sign-in of each account and the failed ones of links',
    params: Type.Object({ client_id: Type.String() }),
    response: Type.Object({ success, reports: Type.Array(report_row) }),
    handle: async ({ ctx, client }) => ({ success: true, reports: await listReports(ctx.db, client.id) }),
  }),
  endpoint({
    id: 'dashboard.connection-reports.get',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/clients/{client_id}/connection-reports/{report_id}',
    auth: 'operator_in_client',
    audited: false,
    summary: 'Retrieve a connection report',
    params: Type.Object({ client_id: Type.String(), report_id: Type.String() }),
    response: Type.Object({ success, report: report_details }),
    errors: ['record_not_found'],
    handle: async ({ ctx, client, params }) => ({
      success: true,
      report: await getReport(ctx.db, client.id, params.report_id),
    }),
  }),
  organizationsErase,
];

/** Links are sent to practices, so they use the service's public address (BASE_URL). */
function describeLink(ctx: Context, link_token: string): CreatedLink {
  const minutes = link_minutes.dashboard;
  return {
    url: hostedLink(ctx.config.base_url, link_token),
    minutes,
    expires_at: new Date(Date.now() + minutes * 60_000).toISOString(),
  };
}

/** Only the last two characters, without the length; nothing for a short value. */
function mask(value: string): string {
  const characters = [...value];
  return `•••${characters.length < 4 ? '' : characters.slice(-2).join('')}`;
}

/** Codes must differ: an appointment is booked by its code. */
function checkVisitTypes(ctx: Context, connector: string, types: readonly Static<typeof visit_type>[]): void {
  const field = 'visit_types';
  const { set_visit_types } = requireConnector(ctx, connector);
  if (!set_visit_types) throw apiError('unsupported_field', { field }, { field });
  const refused = types.map(({ code }) => set_visit_types.refuseCode(code)).find((rule) => rule !== undefined);
  if (refused !== undefined)
    throw apiError('invalid_field', { rule: `The code of a visit type ${refused}` }, { field });
  if (new Set(types.map(({ code }) => code)).size < types.length) {
    throw apiError('invalid_field', { rule: 'visit_types must not contain the same code twice' }, { field });
  }
}

function requireMeasured(ctx: Context, connector: string): void {
  const field = 'parallel_writes_max';
  if (requireConnector(ctx, connector).limits.measured_max === undefined)
    throw apiError('unsupported_field', { field }, { field });
}
