import { Readable } from 'node:stream';
import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { type Endpoint, endpoint, WithHeaders } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import { patients } from '../../../model/records/patients.ts';
import type { Client } from '../../../product/clients/clients.ts';
import type { Context } from '../../../product/context.ts';
import {
  type AccountedPatient,
  defaultPeriod,
  exportAccounting,
  findAccountedPatient,
  readAccounting,
} from '../../../product/disclosures/accounting.ts';
import type { DisclosureFilters } from '../../../product/disclosures/disclosures.ts';
import type { Operator } from '../../../product/operators/operators.ts';
import { readRecord } from '../../../product/records/readRecords.ts';
import { requireOrganization } from '../organization.ts';
import {
  disclosure_export,
  disclosure_file,
  disclosure_page,
  disclosure_search,
  type RequestedAccounting,
} from './schema.ts';

const path = '/dashboard/api/clients/{client_id}/disclosures';
const params = Type.Object({ client_id: Type.String() });

/** For any role: a row says who received data, and nothing of the data. The permission is an owner's to give. */
export const disclosures_endpoints: readonly Endpoint[] = [
  // POST, because an MRN must not appear in a URL.
  endpoint({
    id: 'dashboard.disclosures.search',
    surface: 'dashboard',
    method: 'POST',
    reads: true,
    path: `${path}/search`,
    auth: 'operator_in_client',
    role: 'support',
    summary: 'List who received data about a patient, newest first',
    params,
    body_filters: true,
    body: disclosure_search,
    response: Type.Object({ success, ...disclosure_page }),
    errors: ['record_not_found', 'invalid_field', 'disclosures_not_allowed'],
    handle: async ({ ctx, client, operator, body, auditPatients, auditSubject }) => {
      const { before, page_size = 50, ...requested } = body;
      auditSubject({ detail: { filters: Object.keys(requested) } });
      const { patient, filters } = await resolveRequest(ctx, { client, operator, auditPatients }, requested);
      const { standing, merged_charts } = patient;
      const page = await readAccounting(ctx, patient, { filters, before, page_size });
      return { success: true, ...page, patient: { standing, merged_charts } };
    },
  }),
  endpoint({
    id: 'dashboard.disclosures.export',
    surface: 'dashboard',
    method: 'POST',
    path: `${path}/export`,
    auth: 'operator_in_client',
    role: 'support',
    summary: 'Export who received data about a patient as CSV or JSON',
    params,
    body_filters: true,
    body: disclosure_export,
    response: disclosure_file,
    errors: ['record_not_found', 'invalid_field', 'disclosures_not_allowed'],
    handle: async ({ ctx, client, operator, body, auditPatients, auditSubject }) => {
      const { format, ...requested } = body;
      auditSubject({ detail: { format, filters: Object.keys(requested) } });
      const { patient, filters } = await resolveRequest(ctx, { client, operator, auditPatients }, requested);
      return new WithHeaders(Readable.from(texts(exportAccounting(ctx, patient, { filters, format }))), {
        'content-type': format === 'csv' ? 'text/csv; charset=utf-8' : 'application/json; charset=utf-8',
        'content-disposition': `attachment; filename="disclosures.${format}"`,
      });
    },
  }),
];

async function* texts(parts: AsyncIterable<{ text: string }>): AsyncGenerator<string> {
  for await (const { text } of parts) yield text;
}

type Resolved = { patient: AccountedPatient; filters: DisclosureFilters };

type Request = { client: Client; operator: Operator; auditPatients: (mrns: readonly string[]) => void };

async function resolveRequest(
  ctx: Context,
  { client, operator, auditPatients }: Request,
  requested: RequestedAccounting,
): Promise<Resolved> {
  const { patient_id, patient_mrn, organization_id, kind, account_id, ...period } = requested;
  const scope = organization_id === undefined ? undefined : await requireOrganization(ctx, client, { organization_id });
  if (!operator.may_see_disclosures) {
    // A denied request names the patient too, as far as it does so itself.
    if (patient_mrn !== undefined) auditPatients([patient_mrn]);
    throw apiError('disclosures_not_allowed');
  }
  const mrn = patient_id === undefined ? patient_mrn : await readMrn(ctx, scope, patient_id);
  if (mrn === undefined) {
    throw apiError('invalid_field', { rule: 'patient_mrn or patient_id is required' }, { field: 'patient_mrn' });
  }
  auditPatients([mrn]);
  const patient = await findAccountedPatient(ctx, client.id, mrn, scope?.organization_id);
  auditPatients(patient.mrns);
  return { patient, filters: { ...defaultPeriod(), ...period, kind, account_id } };
}

type Scope = Awaited<ReturnType<typeof requireOrganization>>;

async function readMrn(ctx: Context, scope: Scope | undefined, patient_id: string): Promise<string> {
  if (!scope) {
    const rule = 'organization_id is required together with patient_id';
    throw apiError('invalid_field', { rule }, { field: 'organization_id' });
  }
  const id = parseId(patient_id);
  const stored = id && (await readRecord(ctx.db, scope, patients, id));
  if (!stored || stored.mrn === null) throw apiError('record_not_found', { noun: 'Patient', id: patient_id });
  return stored.mrn;
}
