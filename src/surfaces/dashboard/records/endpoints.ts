import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { type Endpoint, endpoint, JsonText } from '../../../http/endpoint.ts';
import { details_hidden } from '../../../http/hidePatients.ts';
import { AvailabilityQuery, AvailabilityResponse } from '../../../model/availability.ts';
import { collectMrns } from '../../../model/events.ts';
import { activity, clearable, nullable, patientDetail, success } from '../../../model/fields.ts';
import { findKind, type KindName, record_kinds } from '../../../model/records/kinds.ts';
import { patients } from '../../../model/records/patients.ts';
import { Hours, Provider } from '../../../model/records/providers.ts';
import { HoursRequest, ProviderSettingsRequest } from '../../../model/settings.ts';
import { setAppointmentMinutes, syncSoon } from '../../../product/accounts/organizations.ts';
import { setDefaultHours } from '../../../product/records/hours.ts';
import { updateProviderSettings } from '../../../product/records/providers.ts';
import { readAvailability } from '../../../product/records/readAvailability.ts';
import { readList, readPage, readRecord } from '../../../product/records/readRecords.ts';
import { setLocationStatus } from '../../../product/records/settings.ts';
import { confirmRemovals } from '../../../product/records/syncPasses.ts';
import { jobsOfPatient } from '../../../product/writes/patients/patientLane.ts';
import { patientsErase } from '../erasure/endpoints.ts';
import { listRows } from '../jobs/queries.ts';
import { job_row } from '../jobs/schema.ts';
import { organization_params, organization_path, record_params, requireOrganization } from '../organization.ts';
import { eligibilityBenefits } from './eligibility.ts';
import { findPatients, latestSync, listKinds, listOrganizations, readDefaultHours, readProvider } from './queries.ts';
import {
  type DashboardKind,
  dashboard_kinds,
  found_patient,
  isSearched,
  kind_row,
  latest_sync,
  organization_choice,
} from './schema.ts';

/** A response contains the records of one kind, under the kind's name. */
const lists = record_kinds
  .filter(({ list }) => list?.returns === 'all')
  .map(({ name, wire }) => [name, Type.Optional(Type.Array(wire))] as const);

const about_patients = dashboard_kinds.filter(({ mrn_column }) => mrn_column !== undefined);

/** Filters are sent in the body: a name or MRN in a URL would end up in logs and browser histories. */
const record_searches: readonly Endpoint[] = dashboard_kinds.filter(isSearched).map(searchEndpoint);

const patients_max = 20;

export const records_endpoints: readonly Endpoint[] = [
  endpoint({
    id: 'dashboard.organizations.list',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/clients/{client_id}/organizations',
    auth: 'operator_in_client',
    audited: false,
    summary: 'List organizations',
    params: Type.Object({ client_id: Type.String() }),
    response: Type.Object({ success, organizations: Type.Array(organization_choice) }),
    handle: async ({ ctx, client }) => ({ success: true, organizations: await listOrganizations(ctx, client.id) }),
  }),
  endpoint({
    id: 'dashboard.records.count',
    surface: 'dashboard',
    method: 'GET',
    path: `${organization_path}/records`,
    auth: 'operator_in_client',
    role: 'read_only',
    audited: false,
    summary: 'List record kinds with their number of records and last sync',
    params: organization_params,
    response: Type.Object({ success, kinds: Type.Array(kind_row), sync: nullable(latest_sync) }),
    errors: ['record_not_found'],
    handle: async ({ ctx, client, params }) => {
      const scope = await requireOrganization(ctx, client, params);
      const [kinds, sync] = await Promise.all([listKinds(ctx.db, scope), latestSync(ctx.db, scope)]);
      return { success: true, kinds, sync };
    },
  }),
  endpoint({
    id: 'dashboard.records.list',
    surface: 'dashboard',
    method: 'GET',
    path: `${organization_path}/records/{kind}`,
    auth: 'operator_in_client',
    role: 'read_only',
    audited: false,
    summary: 'List all records of a kind',
    params: Type.Object({ ...organization_params.properties, kind: Type.String() }),
    response: Type.Object({ success, ...Object.fromEntries(lists) }),
    errors: ['record_not_found'],
    handle: async ({ ctx, client, params }) => {
      const kind = findKind(params.kind);
      if (kind?.list?.returns !== 'all') throw apiError('record_not_found', { noun: 'List', id: params.kind });
      return new JsonText(await readList(ctx.db, await requireOrganization(ctx, client, params), kind));
    },
  }),
  endpoint({
    id: 'dashboard.records.get',
    surface: 'dashboard',
    method: 'GET',
    path: `${organization_path}/records/{kind}/{id}`,
    auth: 'operator_in_client',
    summary: 'Retrieve a record of a patient',
    params: Type.Object({ ...record_params.properties, kind: Type.String() }),
    reveals: { kind: 'patient', param: 'id' },
    response: Type.Object({
      success,
      record: patientDetail(Type.Unsafe<Record<string, unknown>>(Type.Union(about_patients.map(({ wire }) => wire)))),
      details_hidden,
    }),
    errors: ['record_not_found'],
    handle: async ({ ctx, client, params, auditPatients }) => {
      const scope = await requireOrganization(ctx, client, params);
      const kind = about_patients.find(({ name }) => name === params.kind);
      const id = parseId(params.id);
      const stored = kind && id && (await readRecord(ctx.db, scope, kind, id));
      if (!stored) throw apiError('record_not_found', { noun: 'Record', id: params.id });
      auditPatients([stored.mrn]);
      return { success: true, record: stored.record };
    },
  }),
  ...record_searches,
  eligibilityBenefits,
  // Over all organizations of a client. Filters are in the body for the same reason.
  endpoint({
    id: 'dashboard.patients.find',
    surface: 'dashboard',
    method: 'POST',
    reads: true,
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
      auditPatients(collectMrns({ mrn: text.trim(), patients }));
      return { success: true, patients };
    },
  }),
  endpoint({
    id: 'dashboard.patients.jobs',
    surface: 'dashboard',
    method: 'GET',
    path: `${organization_path}/patients/{id}/jobs`,
    auth: 'operator_in_client',
    // Rows contain nothing about a patient.
    role: 'support',
    summary: 'List the latest jobs of a patient',
    params: record_params,
    response: Type.Object({ success, jobs: Type.Array(job_row) }),
    errors: ['record_not_found'],
    handle: async ({ ctx, client, params, auditPatients }) => {
      const scope = await requireOrganization(ctx, client, params);
      const id = parseId(params.id);
      const patient = id && (await readRecord(ctx.db, scope, patients, id));
      if (!patient) throw apiError('record_not_found', { noun: 'Patient', id: params.id });
      auditPatients([patient.mrn]);
      // A patient who does not exist in the EMR yet has no MRN and only the jobs of the creation.
      const { mrn } = patient;
      const page = await listRows(ctx.db, client.id, { page_size: 100 }, (sql) =>
        mrn === null ? sql`SELECT id FROM jobs WHERE operation_id = ${id}` : jobsOfPatient(sql, client.id, mrn),
      );
      return { success: true, jobs: page.rows };
    },
  }),
  patientsErase,
  endpoint({
    id: 'dashboard.providers.get',
    surface: 'dashboard',
    method: 'GET',
    path: `${organization_path}/providers/{id}`,
    auth: 'operator_in_client',
    role: 'read_only',
    audited: false,
    summary: 'Retrieve a provider, its settings in the service, and the EMR’s values',
    params: record_params,
    response: Type.Object({
      success,
      provider: Provider,
      /** Which values are set in the service. */
      set: Type.Object({ status: nullable(activity), hours: Type.Boolean() }),
      emr: Type.Object({ status: activity, hours: Hours }),
    }),
    errors: ['record_not_found'],
    handle: async ({ ctx, client, params }) => {
      const scope = await requireOrganization(ctx, client, params);
      const id = parseId(params.id);
      const provider = id && (await readProvider(ctx.db, scope, id));
      if (!provider) throw apiError('record_not_found', { noun: 'Provider', id: params.id });
      return { success: true, ...provider };
    },
  }),
  endpoint({
    id: 'dashboard.providers.update',
    surface: 'dashboard',
    method: 'PATCH',
    path: `${organization_path}/providers/{id}`,
    auth: 'operator_in_client',
    summary: 'Update a provider',
    params: record_params,
    body: ProviderSettingsRequest,
    response: Type.Object({ success }),
    errors: ['no_field', 'record_not_found', 'location_not_found', 'first_sync_pending'],
    handle: async ({ ctx, client, params, body, inTransaction }) => {
      const scope = await requireOrganization(ctx, client, params);
      return inTransaction(async (tx) => {
        const id = parseId(params.id);
        if (!id || !(await updateProviderSettings(tx, scope, { id }, body))) {
          throw apiError('record_not_found', { noun: 'Provider', id: params.id });
        }
        return { success: true };
      });
    },
  }),
  endpoint({
    id: 'dashboard.locations.update',
    surface: 'dashboard',
    method: 'PATCH',
    path: `${organization_path}/locations/{id}`,
    auth: 'operator_in_client',
    summary: 'Update a location',
    params: record_params,
    body: Type.Object({ status: activity }),
    response: Type.Object({ success }),
    errors: ['record_not_found'],
    handle: async ({ ctx, client, params, body, inTransaction }) => {
      const { organization_id } = await requireOrganization(ctx, client, params);
      return inTransaction(async (tx) => {
        const id = parseId(params.id);
        if (!id || !(await setLocationStatus(tx, organization_id, id, body.status))) {
          throw apiError('record_not_found', { noun: 'Location', id: params.id });
        }
        return { success: true };
      });
    },
  }),
  endpoint({
    id: 'dashboard.availability.list',
    surface: 'dashboard',
    method: 'GET',
    path: `${organization_path}/availability`,
    auth: 'operator_in_client',
    role: 'read_only',
    audited: false,
    summary: 'List availability, as the API returns it',
    params: organization_params,
    query: AvailabilityQuery,
    response: AvailabilityResponse,
    errors: ['record_not_found', 'provider_not_found', 'location_not_found', 'first_sync_pending'],
    handle: async ({ ctx, client, params, query }) =>
      readAvailability(ctx.db, await requireOrganization(ctx, client, params), query),
  }),
  endpoint({
    id: 'dashboard.default-hours.get',
    surface: 'dashboard',
    method: 'GET',
    path: `${organization_path}/default-hours`,
    auth: 'operator_in_client',
    role: 'read_only',
    audited: false,
    summary: 'Retrieve the default hours of an organization',
    params: organization_params,
    response: Type.Object({
      success,
      hours: Hours,
      set: Type.Boolean(),
      /** Null if the practice has not set a duration. */
      appointment_minutes: nullable(Type.Integer()),
    }),
    errors: ['record_not_found'],
    handle: async ({ ctx, client, params }) => {
      const scope = await requireOrganization(ctx, client, params);
      return { success: true, ...(await readDefaultHours(ctx.db, scope)) };
    },
  }),
  endpoint({
    id: 'dashboard.default-hours.update',
    surface: 'dashboard',
    method: 'PATCH',
    path: `${organization_path}/default-hours`,
    auth: 'operator_in_client',
    summary: 'Set the default hours and appointment duration of an organization; null restores the standard',
    params: organization_params,
    body: Type.Object({
      hours: clearable(HoursRequest),
      appointment_minutes: clearable(Type.Integer({ minimum: 1, maximum: 1440 })),
    }),
    response: Type.Object({ success }),
    errors: ['no_field', 'record_not_found', 'location_not_found', 'first_sync_pending'],
    handle: async ({ ctx, client, params, body, inTransaction }) => {
      const scope = await requireOrganization(ctx, client, params);
      const { hours, appointment_minutes } = body;
      if (hours === undefined && appointment_minutes === undefined) throw apiError('no_field');
      return inTransaction(async (tx) => {
        if (hours !== undefined) await setDefaultHours(tx, scope, hours);
        if (appointment_minutes !== undefined) {
          await setAppointmentMinutes(tx, scope.organization_id, appointment_minutes);
        }
        return { success: true };
      });
    },
  }),
  endpoint({
    id: 'dashboard.removals.confirm',
    surface: 'dashboard',
    method: 'POST',
    path: `${organization_path}/removals/{kind}/confirm`,
    auth: 'operator_in_client',
    role: 'operator',
    summary: 'Let the next sync of a list remove the records that the EMR no longer lists',
    params: Type.Object({ ...organization_params.properties, kind: Type.String() }),
    body: Type.Object({}),
    response: Type.Object({ success }),
    errors: ['record_not_found'],
    handle: async ({ ctx, client, params, inTransaction, auditSubject }) => {
      const { organization_id } = await requireOrganization(ctx, client, params);
      return inTransaction(async (tx) => {
        const removals = await confirmRemovals(tx, organization_id, params.kind);
        if (!removals) throw apiError('record_not_found', { noun: 'Held removal', id: params.kind });
        await syncSoon(tx, organization_id);
        auditSubject({ subject: organization_id, detail: { kind: params.kind, ...removals } });
        return { success: true };
      });
    },
  }),
];

function searchEndpoint(kind: DashboardKind): Endpoint {
  const filters = Object.entries(kind.filters).map(([name, { schema }]) => [name, Type.Optional(schema)] as const);
  return endpoint({
    id: `dashboard.${kind.name.replaceAll('_', '-')}.search`,
    surface: 'dashboard',
    method: 'POST',
    reads: true,
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
      const scope = await requireOrganization(ctx, client, params);
      const read = await readPage(ctx.db, scope, kind, { filters, page: Number(before), page_size });
      auditPatients([...read.mrns, ...collectMrns(filters)]);
      const page: PageJson = JSON.parse(read.body);
      const { current_page, total_pages, total_count: total } = page.pagination;
      return {
        success: true,
        rows: page[kind.name] ?? [],
        next: current_page < total_pages ? String(current_page + 1) : null,
        total,
      };
    },
  });
}

type PageJson = Partial<Record<KindName, Record<string, unknown>[]>> & {
  pagination: { current_page: number; total_pages: number; total_count: number };
};
