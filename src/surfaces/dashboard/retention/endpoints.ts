import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { type Endpoint, endpoint, type StoredRequest, WithHeaders } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import { checkReportPeriod, formatDisposals, listDisposals } from '../../../product/erasure/disposals.ts';
import { liftHold, listHolds, placeHold } from '../../../product/erasure/holds.ts';
import { readPeriods, setPeriods, shortensPeriods } from '../../../product/erasure/periods.ts';
import { findHoldScope } from '../../../product/erasure/scopes.ts';
import { disposal, legal_hold, new_hold, period_changes, report_period, retention_period } from './schema.ts';

const of_client = '/dashboard/api/clients/{client_id}';
const client_params = Type.Object({ client_id: Type.String() });

export const retention_endpoints: readonly Endpoint[] = [
  endpoint({
    id: 'dashboard.clients.retention.get',
    surface: 'dashboard',
    method: 'GET',
    path: `${of_client}/retention`,
    auth: 'operator_in_client',
    role: 'read_only',
    summary: 'Retrieve how long the data of an application is kept',
    params: client_params,
    response: Type.Object({ success, periods: Type.Array(retention_period) }),
    handle: async ({ ctx, client }) => ({
      success: true,
      periods: await ctx.db.tenant(client.id, (tx) => readPeriods(tx, ctx.config, client.id)),
    }),
  }),
  endpoint({
    id: 'dashboard.clients.retention.update',
    fresh_sign_in: true,
    // A period of a day is an erasure of what is older.
    second_person: {
      action: 'erasure',
      when: async ({ ctx, client, body }) =>
        client !== undefined &&
        (await ctx.db.tenant(client.id, (tx) =>
          shortensPeriods(tx, ctx.config, { client_id: client.id, changes: body }),
        )),
    },
    surface: 'dashboard',
    method: 'PATCH',
    path: `${of_client}/retention`,
    auth: 'operator_in_client',
    role: 'owner',
    summary: 'Set how long the data of an application is kept',
    params: client_params,
    body: period_changes,
    response: Type.Object({ success, periods: Type.Array(retention_period) }),
    errors: ['invalid_field'],
    handle: async ({ ctx, client, operator, body, inTransaction, auditSubject }) => {
      auditSubject({ subject: client.id, detail: { periods: body } });
      return inTransaction(async (tx) => {
        const changed = { changes: body, changed_by: operator.email };
        return { success: true, periods: await setPeriods(tx, ctx.config, client.id, changed) };
      });
    },
  }),
  endpoint({
    id: 'dashboard.clients.legal-holds.list',
    surface: 'dashboard',
    method: 'GET',
    path: `${of_client}/legal-holds`,
    auth: 'operator_in_client',
    role: 'read_only',
    summary: 'List the legal holds of an application',
    params: client_params,
    response: Type.Object({ success, legal_holds: Type.Array(legal_hold) }),
    handle: async ({ ctx, client, auditPatients }) => {
      const legal_holds = await ctx.db.tenant(client.id, (tx) => listHolds(tx, client.id));
      auditPatients(legal_holds.map(({ patient_mrn }) => patient_mrn));
      return { success: true, legal_holds };
    },
  }),
  endpoint({
    id: 'dashboard.clients.legal-holds.create',
    fresh_sign_in: true,
    surface: 'dashboard',
    method: 'POST',
    path: `${of_client}/legal-holds`,
    auth: 'operator_in_client',
    role: 'read_only',
    summary: 'Place a legal hold on an application, a practice or a patient; nothing it covers is deleted',
    params: client_params,
    body: new_hold,
    response: Type.Object({ success, legal_hold }),
    errors: ['legal_hold_not_allowed', 'record_not_found', 'invalid_field'],
    handle: async ({ ctx, client, operator, body, inTransaction, auditSubject, auditPatients }) => {
      const { reference, ...requested } = body;
      auditSubject({ detail: { covers: body.covers, reference } });
      if (!operator.may_hold) throw apiError('legal_hold_not_allowed');
      const scope = await findHoldScope(ctx, client.id, requested);
      if (scope.of === 'patient') auditPatients([scope.patient.mrn]);
      return inTransaction(async (tx) => {
        const hold = await placeHold(tx, scope, { reference, placed_by: operator.email });
        auditSubject({ subject: hold.id, detail: { covers: hold.covers, reference, org_id: hold.org_id } });
        return { success: true, legal_hold: hold };
      });
    },
  }),
  endpoint({
    id: 'dashboard.clients.legal-holds.lift',
    fresh_sign_in: true,
    second_person: {
      action: 'erasure',
      // Without the permission, it is refused at once.
      when: ({ operator }) => operator.may_hold,
      describe: describeHold,
    },
    surface: 'dashboard',
    method: 'POST',
    path: `${of_client}/legal-holds/{id}/lift`,
    auth: 'operator_in_client',
    role: 'read_only',
    summary: 'Lift a legal hold; what has expired is then deleted',
    params: Type.Object({ client_id: Type.String(), id: Type.String() }),
    body: Type.Object({}),
    response: Type.Object({ success, legal_hold }),
    errors: ['legal_hold_not_allowed', 'record_not_found'],
    handle: async ({ client, operator, params, inTransaction, auditSubject, auditPatients }) => {
      if (!operator.may_hold) throw apiError('legal_hold_not_allowed');
      return inTransaction(async (tx) => {
        const lifted = { client_id: client.id, hold_id: params.id, lifted_by: operator.email };
        const hold = await liftHold(tx, lifted);
        if (!hold) throw apiError('record_not_found', { noun: 'Legal hold', id: params.id });
        auditSubject({ subject: hold.id, detail: { covers: hold.covers, reference: hold.reference } });
        auditPatients([hold.patient_mrn]);
        return { success: true, legal_hold: hold };
      });
    },
  }),
  endpoint({
    id: 'dashboard.disposals.list',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/disposals',
    auth: 'operator',
    role: 'owner',
    summary: 'Report what was deleted, by day and rule',
    query: report_period,
    response: Type.Object({ success, disposals: Type.Array(disposal) }),
    errors: ['invalid_field'],
    handle: async ({ ctx, query, auditSubject }) => {
      auditSubject({ detail: query });
      checkReportPeriod(query);
      return { success: true, disposals: await listDisposals(ctx.db.system.pooled, 'all', query) };
    },
  }),
  endpoint({
    id: 'dashboard.disposals.export',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/disposals.csv',
    auth: 'operator',
    role: 'owner',
    summary: 'Export the report of what was deleted as CSV',
    query: report_period,
    response: Type.String(),
    errors: ['invalid_field'],
    handle: async ({ ctx, query, auditSubject }) => {
      auditSubject({ detail: query });
      checkReportPeriod(query);
      const text = formatDisposals(await listDisposals(ctx.db.system.pooled, 'all', query));
      return new WithHeaders(text, {
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': 'attachment; filename="disposals.csv"',
      });
    },
  }),
];

async function describeHold({ ctx, client, params }: StoredRequest<unknown>): Promise<string> {
  const id = String(params.id);
  const holds = client ? await ctx.db.tenant(client.id, (tx) => listHolds(tx, client.id)) : [];
  const hold = holds.find((each) => each.id === parseId(id) && each.lifted_at === null);
  if (!hold) throw apiError('record_not_found', { noun: 'Legal hold', id });
  return `legal hold “${hold.reference}”`;
}
