import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { type Endpoint, endpoint } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import type { Tx } from '../../../platform/db/database.ts';
import { describeCertificate, describeCertificates } from '../../../platform/security/certificates.ts';
import { describeCertificateChange } from '../../../product/accounts/appCertificates.ts';
import { requireConnector } from '../../../product/accounts/connectAccount.ts';
import {
  addEmrApp,
  appDestinations,
  changeEmrApp,
  type EmrApp,
  findEmrApp,
  type ListedApp,
  listEmrApps,
  removeEmrApp,
} from '../../../product/accounts/emrApps.ts';
import type { Client } from '../../../product/clients/clients.ts';
import type { Context } from '../../../product/context.ts';
import { checkAppChanges, checkNewApp, keySetUrl, returnAddress } from '../../../product/link/registrations.ts';
import { requestSyncForRule } from '../../../product/records/syncPasses.ts';
import { app_changes, type EmrAppRow, emr_app, emr_app_choice, emr_preset, new_app } from './schema.ts';

const path = '/dashboard/api/clients/{client_id}/emr-apps';
const declared = { surface: 'dashboard', auth: 'operator_in_client' } as const;
const params = Type.Object({ client_id: Type.String() });
const app_params = Type.Object({ client_id: Type.String(), app_id: Type.String() });

export const emr_apps_endpoints: readonly Endpoint[] = [
  endpoint({
    ...declared,
    id: 'dashboard.emr-apps.list',
    method: 'GET',
    path,
    summary: 'List the EMR apps of an application, and the EMRs that have them',
    params,
    response: Type.Object({
      success,
      emr_apps: Type.Array(emr_app),
      emrs: Type.Array(emr_app_choice),
      presets: Type.Array(emr_preset),
    }),
    handle: async ({ ctx, client }) => {
      const apps = await ctx.db.tenant(client.id, (tx) => listEmrApps(ctx, tx));
      return {
        success: true,
        emr_apps: apps.map((app) => toRow(ctx, client, app)),
        emrs: choices(ctx),
        presets: listPresets(ctx),
      };
    },
  }),
  endpoint({
    ...declared,
    id: 'dashboard.emr-apps.create',
    fresh_sign_in: true,
    method: 'POST',
    path,
    role: 'owner',
    summary: 'Add an EMR app',
    params,
    body: new_app,
    response: Type.Object({
      success,
      id: Type.String(),
      ...Type.Pick(emr_app, ['key_set_url', 'redirect_uri']).properties,
    }),
    errors: ['emr_app_exists', 'emr_app_pair_taken'],
    handle: async ({ ctx, client, body, inTransaction, auditSubject }) =>
      inTransaction(async (tx) => {
        const app = checkNewApp(ctx, body);
        const id = await addEmrApp(ctx, tx, { client_id: client.id, ...app });
        const detail = { destinations: appDestinations(undefined, app), ...describeCertificateChange(undefined, app) };
        auditSubject({ subject: id, detail });
        return { success: true, id, ...registrationUrls(ctx, client, { id, ...app }) };
      }),
  }),
  endpoint({
    ...declared,
    id: 'dashboard.emr-apps.update',
    fresh_sign_in: true,
    method: 'PATCH',
    path: `${path}/{app_id}`,
    role: 'owner',
    summary: 'Change an EMR app: name, logo, hosts, endpoints, credentials, requests or MRN identifier',
    params: app_params,
    body: app_changes,
    response: Type.Object({ success }),
    errors: ['emr_app_not_found', 'emr_app_exists', 'emr_app_pair_taken', 'emr_app_in_use'],
    handle: async ({ ctx, client, params, body, inTransaction, auditSubject }) => {
      const response = await inTransaction(async (tx) => {
        const app = await getApp(ctx, tx, params.app_id);
        const changed = checkAppChanges(ctx, app, body);
        const changes = { destinations: appDestinations(app, changed), ...describeCertificateChange(app, changed) };
        auditSubject({ subject: app.id, detail: { changed: Object.keys(body), ...changes } });
        await changeEmrApp(ctx, tx, changed);
        if (changed.mrn_system !== app.mrn_system || changed.mrn_type !== app.mrn_type) {
          await requestSyncForRule(ctx, tx, client.id, { emr_app_id: app.id });
        }
        return { success: true };
      });
      ctx.lookups.clear();
      ctx.notifications.notify('chartwire_jobs', client.id);
      return response;
    },
  }),
  endpoint({
    ...declared,
    id: 'dashboard.emr-apps.delete',
    fresh_sign_in: true,
    method: 'DELETE',
    path: `${path}/{app_id}`,
    role: 'owner',
    summary: 'Delete an EMR app that no linked account uses',
    params: app_params,
    response: Type.Object({ success }),
    errors: ['emr_app_not_found', 'emr_app_in_use'],
    handle: async ({ ctx, params, inTransaction, auditSubject }) =>
      inTransaction(async (tx) => {
        const app = await getApp(ctx, tx, params.app_id);
        auditSubject({ subject: app.id, detail: { destinations: appDestinations(app, undefined) } });
        const count = await removeEmrApp(tx, app.id);
        if (count > 0) throw apiError('emr_app_in_use', { count: String(count) });
        return { success: true };
      }),
  }),
];

async function getApp(ctx: Context, tx: Tx, app_id: string): Promise<EmrApp> {
  const id = parseId(app_id);
  const app = id && (await findEmrApp(ctx, tx, id));
  if (!app) throw apiError('emr_app_not_found', { id: app_id });
  return app;
}

/** Without secrets: of those it only says that they are set. */
function toRow(ctx: Context, client: Client, app: ListedApp): EmrAppRow {
  const { id, name, logo, connector, mrn_system, mrn_type, registered, credentials, accounts, created_at } = app;
  const { hosts, token_endpoint, authorization_endpoint, issuer, tenant_path } = app;
  const { scope, headers, search_params, bulk_group, requests_counted_per } = app;
  const { credential_fields, display_name } = requireConnector(ctx, connector);
  const { way = '', ...values } = credentials;
  const fields = credential_fields.filter((field) => values[field.name] !== undefined);
  return {
    id,
    name,
    logo,
    emr: connector,
    emr_name: display_name,
    hosts: [...hosts],
    token_endpoint,
    authorization_endpoint,
    issuer,
    tenant_path,
    scope,
    header_names: Object.keys(headers),
    search_params,
    bulk_group,
    certificate: app.certificate === null ? null : describeCertificate(app.certificate),
    authorities: app.ca_certificates === null ? [] : describeCertificates(app.ca_certificates),
    requests_counted_per,
    mrn_system,
    mrn_type,
    way,
    values: Object.fromEntries(fields.map(({ name, secret }) => [name, secret ? null : (values[name] ?? null)])),
    registered,
    ...registrationUrls(ctx, client, app),
    accounts,
    key_fetches: app.key_fetches,
    keys_fetched_at: app.keys_fetched_at?.toISOString() ?? null,
    created_at: created_at.toISOString(),
  };
}

/** What must be registered with the EMR, which issues the client ID afterwards. */
function registrationUrls(
  ctx: Context,
  { public_id }: Client,
  { id, connector, credentials }: Pick<EmrApp, 'id' | 'connector' | 'credentials'>,
): Pick<EmrAppRow, 'key_set_url' | 'redirect_uri'> {
  const { sign_in_ways = [] } = requireConnector(ctx, connector);
  const must_register = sign_in_ways.find(({ name }) => name === credentials.way)?.must_register;
  return {
    key_set_url: must_register === 'key_set' ? keySetUrl(ctx, public_id, id) : null,
    redirect_uri: must_register === 'return_address' ? returnAddress(ctx, id) : null,
  };
}

function listPresets({ connectors }: Context) {
  return [...connectors.values()].flatMap(({ name, presets = [] }) =>
    presets.map(({ steps, hosts, sandbox: _, ...preset }) => ({
      ...{ ...preset, emr: name, steps: [...steps], hosts: [...hosts] },
    })),
  );
}

/** The EMRs whose sign-in an operator can configure, with the fields of each method. */
function choices({ connectors }: Context) {
  return [...connectors.values()].flatMap((connector) => {
    const { name, display_name, credential_fields, sign_in_ways = [] } = connector;
    const ways = sign_in_ways.filter(({ by_app }) => by_app);
    if (ways.length === 0) return [];
    const describeFields = (names: readonly string[]) =>
      credential_fields
        .filter((field) => names.includes(field.name))
        .map(({ name, label, secret, optional = false }) => ({ name, label, secret, optional }));
    return [
      {
        emr: name,
        emr_name: display_name,
        has_mrn_rule: connector.sampleIdentifiers !== undefined,
        ways: ways.map(({ name, label, about, fields, on_page = false, must_register }) => ({
          ...{ name, label, about, on_page, registers: must_register !== undefined },
          fields: describeFields(fields),
        })),
      },
    ];
  });
}
