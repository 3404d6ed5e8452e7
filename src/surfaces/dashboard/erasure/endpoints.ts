import { type Static, Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { type EndpointRequest, endpoint } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import type { Tx } from '../../../platform/db/database.ts';
import type { Context } from '../../../product/context.ts';
import { erase, planErasure } from '../../../product/erasure/erase.ts';
import { findOrganizationScope, findPatientScope } from '../../../product/erasure/scopes.ts';
import type { ErasureScope } from '../../../product/erasure/tables.ts';
import { listChartMrns } from '../../../product/records/mergedCharts.ts';
import { organization_params, organization_path, record_params, requireOrganization } from '../organization.ts';
import { type Erasure, erasure, erasure_request } from './schema.ts';

const declared = {
  surface: 'dashboard',
  method: 'POST',
  auth: 'operator_in_client',
  role: 'owner',
  fresh_sign_in: true,
  second_person: { action: 'erasure', when: ({ body }: { body: Static<typeof erasure_request> }) => !body.dry_run },
  body: erasure_request,
  response: Type.Object({ success, erasure }),
} as const;

export const clientsErase = endpoint({
  ...declared,
  id: 'dashboard.clients.erase',
  path: '/dashboard/api/clients/{client_id}/erase',
  summary: 'Erase an application with everything stored for it, or count what would be erased',
  params: Type.Object({ client_id: Type.String() }),
  errors: ['erasure_blocked', 'legal_hold_active'],
  handle: (request) => respond(request, { of: 'client', client_id: request.client.id }, request.client.id),
});

export const organizationsErase = endpoint({
  ...declared,
  id: 'dashboard.organizations.erase',
  path: `${organization_path}/erase`,
  second_person: {
    ...declared.second_person,
    describe: async ({ ctx, client, params }) => {
      const id = String(params.organization_id);
      const organization = client && (await findOrganizationScope(ctx, client.id, id));
      if (!organization) throw apiError('record_not_found', { noun: 'Organization', id });
      return `practice ${organization.org_id}`;
    },
  },
  summary: 'Erase a practice with everything stored for it, or count what would be erased',
  params: organization_params,
  errors: ['record_not_found', 'erasure_blocked', 'legal_hold_active'],
  handle: async (request) => {
    const { organization_id } = await requireOrganization(request.ctx, request.client, request.params);
    const scope = await findOrganizationScope(request.ctx, request.client.id, organization_id);
    if (!scope) throw apiError('record_not_found', { noun: 'Organization', id: organization_id });
    return respond(request, scope, organization_id);
  },
});

export const patientsErase = endpoint({
  ...declared,
  id: 'dashboard.patients.erase',
  path: `${organization_path}/patients/{id}/erase`,
  summary: 'Erase a patient with everything stored about them, or count what would be erased',
  params: record_params,
  errors: ['record_not_found', 'erasure_blocked', 'legal_hold_active'],
  handle: async (request) => {
    const { ctx, client, params } = request;
    const scope = await findPatientScope(ctx, await requireOrganization(ctx, client, params), params.id);
    const { id, mrn } = scope.patient;
    if (id === null) throw apiError('record_not_found', { noun: 'Patient', id: params.id });
    // Which charts were merged is deleted too: the record is what the accounting of disclosures has left.
    if (mrn !== null) request.auditPatients(await listChartMrns(ctx.db, scope, mrn));
    return respond(request, scope, id);
  },
});

type Request = Pick<
  EndpointRequest<'operator_in_client', typeof erasure_request, undefined, undefined>,
  'body' | 'auditSubject' | 'recordInTransaction'
> & { ctx: Context };

/** The audit record of the request is the proof: it has the counts, and no health data. */
async function respond(
  { ctx, body, auditSubject, recordInTransaction }: Request,
  scope: ErasureScope,
  subject: string,
): Promise<{ success: true; erasure: Erasure }> {
  const record = async (tx: Tx, rows: Record<string, number>) => {
    auditSubject({ subject, detail: { erased: scope.of, rows } });
    await recordInTransaction(tx);
  };
  if (body.dry_run) {
    auditSubject({ subject, detail: { dry_run: true } });
    const { rows, ...plan } = await planErasure(ctx, scope);
    return { success: true, erasure: { erased: false, rows: listed(rows), ...plan } };
  }
  const rows = await erase(ctx, scope, record);
  return { success: true, erasure: { erased: true, rows: listed(rows), linked_accounts: 0, unfinished_jobs: 0 } };
}

function listed(rows: Record<string, number>): Erasure['rows'] {
  return Object.entries(rows).map(([table, count]) => ({ table, rows: count }));
}
