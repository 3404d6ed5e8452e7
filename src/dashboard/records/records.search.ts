import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox';
import { patientsOf } from '../../events.ts';
import { type Endpoint, endpoint } from '../../http/endpoint.ts';
import { Appointment } from '../../model/appointment.ts';
import { Claim } from '../../model/claim.ts';
import { days, nullable, success, text } from '../../model/fields.ts';
import { InsuranceProvider } from '../../model/insuranceProvider.ts';
import { Order } from '../../model/order.ts';
import { Patient } from '../../model/patient.ts';
import { ReferringProvider } from '../../model/referringProvider.ts';
import { type AppointmentFilters, appointmentPages } from '../../records/appointments.ts';
import { checkRange } from '../../records/checkRange.ts';
import { claimPages } from '../../records/claims.ts';
import { insuranceProviderPages } from '../../records/insuranceProviders.ts';
import { orderPages } from '../../records/orders.ts';
import { type Paged, readPage } from '../../records/page.ts';
import { patientPages } from '../../records/patients.ts';
import { referringProviderPages } from '../../records/referringProviders.ts';
import { openOrganization } from './openOrganization.ts';
import { organization_params, organization_path } from './organizationPath.ts';

const some = Type.Optional(text({ minLength: 1 }));
const of_patient = { ...days('day'), patient_mrn: some };

/** The zone in which an appointment's days are meant is the organization's, and not for the page to say. */
const appointments = appointmentPages as Paged<Omit<AppointmentFilters, 'timezone'>>;

/** What a list is searched by stands in a body: a name or an MRN in an address would stay in logs and histories. */
export const recordSearches: readonly Endpoint[] = [
  searchEndpoint(patientPages, Patient, {
    first_name: some,
    last_name: some,
    mrn: some,
    phone: some,
    dob: Type.Optional(Type.String({ format: 'date' })),
  }),
  searchEndpoint(appointments, Appointment, { ...of_patient, provider_ehr_id: some }),
  searchEndpoint(orderPages, Order, of_patient),
  searchEndpoint(claimPages, Claim, { ...of_patient, claim_status: some }),
  searchEndpoint(insuranceProviderPages, InsuranceProvider, { name: some }),
  searchEndpoint(referringProviderPages, ReferringProvider, { first_name: some, last_name: some, npi: some }),
];

function searchEndpoint<Filters extends TProperties>(
  list: Paged<Static<TObject<Filters>>>,
  schema: TSchema,
  filters: Filters,
): Endpoint {
  return endpoint({
    id: `dashboard.${list.table.replaceAll('_', '-')}.search`,
    surface: 'dashboard',
    method: 'POST',
    path: `${organization_path}/records/${list.table}/search`,
    auth: 'operator_in_client',
    role: 'read_only',
    // Insurance companies and referring providers are reference lists: nothing in them is about a patient.
    audited: list.mrn !== undefined,
    summary: 'Records of one kind, page by page',
    params: organization_params,
    body: Type.Object({
      ...filters,
      before: Type.Optional(Type.String({ pattern: '^[1-9]\\d{0,6}$', description: 'The page, as `next` named it' })),
      page_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
    }),
    response: Type.Object({ success, rows: Type.Array(schema), next: nullable(Type.String()), total: Type.Integer() }),
    errors: ['record_not_found'],
    handle: async ({ ctx, client, params, body, auditPatients }) => {
      // The body's schema is these very filters with the two parameters of paging.
      const { before = '1', page_size = 50, ...asked } = body as Paging & Record<string, unknown>;
      checkRange(asked);
      const scope = await openOrganization(ctx, client, params);
      // Filters by day want the zone beside them; the other lists look for no filter of that name.
      const query = { ...asked, timezone: scope.timezone, page: Number(before), page_size };
      const read = await readPage(ctx.db, scope, list, query as unknown as Static<TObject<Filters>>);
      auditPatients([...read.mrns, ...patientsOf(asked)]);
      // readPage gives the pagination of every list, and names the rows as their table.
      const answer: Record<string, unknown> = JSON.parse(read.body);
      const pagination = answer.pagination as Record<string, number>;
      const rows = answer[list.table];
      const { page = 1, total_pages = 1, total_count: total } = pagination;
      return { success: true, rows, next: page < total_pages ? String(page + 1) : null, total };
    },
  });
}

type Paging = { before?: string; page_size?: number; start_date?: string; end_date?: string };
