import { Type } from 'typebox';
import { type Endpoint, endpoint } from '../../../http/endpoint.ts';
import { type DashboardKind, dashboard_kinds, isSearched } from '../../../model/dashboard/recordKinds.ts';
import { found_patient } from '../../../model/dashboard/records.ts';
import { patientsOf } from '../../../model/events.ts';
import { nullable, success } from '../../../model/fields.ts';
import { findPatients } from '../../../product/records/findPatients.ts';
import { readPage } from '../../../product/records/readRecords.ts';
import { openOrganization, organization_params, organization_path } from './organization.ts';

/** Filters are sent in the body: a name or MRN in a URL would end up in logs and browser histories. */
export const recordSearches: readonly Endpoint[] = dashboard_kinds.filter(isSearched).map(searchEndpoint);

function searchEndpoint(kind: DashboardKind): Endpoint {
  const filters = Object.entries(kind.filters).map(([name, { schema }]) => [name, Type.Optional(schema)] as const);
  return endpoint({
    id: `dashboard.${kind.name.replaceAll('_', '-')}.search`,
    surface: 'dashboard',
    method: 'POST',
    path: `${organization_path}/records/${kind.name}/search`,
    auth: 'operator_in_client',
    role: 'read_only',
    audited: kind.mrn_column !== undefined,
    summary: `Search ${kind.labels.plural}`,
    params: organization_params,
    body_filters: true,
    body: Type.Object({
      ...Object.fromEntries(filters),
      before: Type.Optional(
        Type.String({ pattern: '^[1-9]\\d{0,6}$', description: 'The page number: `next` of the previous response' }),
      ),
      page_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
    }),
    response: Type.Object({
      success,
      rows: Type.Array(kind.wire),
      next: nullable(Type.String()),
      total: Type.Integer(),
    }),
    errors: ['record_not_found'],
    handle: async ({ ctx, client, params, body, auditPatients }) => {
      const { before = '1', page_size = 50, ...filters } = body;
      const scope = await openOrganization(ctx, client, params);
      const read = await readPage(ctx.db, scope, kind, filters, { page: Number(before), page_size });
      auditPatients([...read.mrns, ...patientsOf(filters)]);
      const page: PageJson = JSON.parse(read.body);
      const { current_page, total_pages, total_count: total } = page.pagination;
      return {
        success: true,
        rows: page[kind.name],
        next: current_page < total_pages ? String(current_page + 1) : null,
        total,
      };
    },
  });
}

const patients_max = 20;

/** Over all organizations of a client. Filters are in the body for the same reason. */
export const patientsFind = endpoint({
  id: 'dashboard.patients.find',
  surface: 'dashboard',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/patients/find',
  auth: 'operator_in_client',
  role: 'read_only',
  summary: 'Find patients of all organizations by name, date of birth, phone number or MRN',
  params: Type.Object({ client_id: Type.String() }),
  body: Type.Object({ text: Type.String({ minLength: 2, maxLength: 200 }) }),
  response: Type.Object({ success, patients: Type.Array(found_patient) }),
  handle: async ({ ctx, client, body: { text }, auditPatients }) => {
    const patients = await findPatients(ctx.db, client.id, text, { patients_max });
    // Also the search text, in case it was the MRN of a patient who is not stored.
    auditPatients(patientsOf({ mrn: text.trim(), patients }));
    return { success: true, patients };
  },
});

type PageJson = { pagination: { current_page: number; total_pages: number; total_count: number } } & Record<
  string,
  unknown
>;
