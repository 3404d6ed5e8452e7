import { apiError } from '../../catalog/errors.ts';
import { parseId } from '../../catalog/ids.ts';
import type { Fragment, Query, Tx } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';
import { jobsOfPatient } from '../writes/patients/patientLane.ts';
import type { ErasureScope } from './tables.ts';

/** A client's organization, by our id or by the client's `org_id`. */
export async function findOrganizationScope(
  ctx: Pick<Context, 'db'>,
  client_id: string,
  organization: string,
): Promise<Extract<ErasureScope, { of: 'organization' }> | undefined> {
  const [row] = await ctx.db.read<{ id: string; org_id: string }>(
    client_id,
    (sql) => sql`SELECT id, org_id FROM organizations
      WHERE org_id = ${organization} OR id = ${parseId(organization) ?? null}::uuid`,
  );
  return row && { of: 'organization', client_id, organization_id: row.id, org_id: row.org_id };
}

/**
 * What a legal hold is to cover. A patient need not be stored: an MRN is enough. Throws if the names do not fit the
 * coverage, or if there is no such practice or patient.
 */
export async function findHoldScope(
  ctx: Pick<Context, 'db'>,
  client_id: string,
  {
    covers,
    organization,
    patient,
  }: { covers: ErasureScope['of']; organization?: string | undefined; patient?: string | undefined },
): Promise<ErasureScope> {
  const needed: readonly string[] = {
    client: [],
    organization: ['organization'],
    patient: ['organization', 'patient'],
  }[covers];
  for (const [field, value] of Object.entries({ organization, patient })) {
    const rule =
      value === undefined ? `${field} is required for this coverage` : `${field} does not belong to this coverage`;
    if ((value !== undefined) !== needed.includes(field)) throw apiError('invalid_field', { rule }, { field });
  }
  if (organization === undefined) return { of: 'client', client_id };
  const scope = await findOrganizationScope(ctx, client_id, organization);
  if (!scope) throw apiError('record_not_found', { noun: 'Organization', id: organization });
  if (patient === undefined) return scope;
  const result = await findPatientScope(ctx, { client_id, organization_id: scope.organization_id }, patient);
  // An ID that is none of a patient would be taken for an MRN.
  if (result.patient.id === null && parseId(patient) !== undefined) {
    throw apiError('record_not_found', { noun: 'Patient', id: patient });
  }
  return result;
}

type Stored = {
  id: string;
  ehr_id: string | null;
  mrn: string | null;
  last_name: string | null;
  dob: string | null;
  phones: string[];
};

type Read = <Row extends object>(query: (sql: Query) => Fragment) => PromiseLike<readonly Row[]>;
type PatientScope = Extract<ErasureScope, { of: 'patient' }>;

/**
 * A patient of an organization, by our id or by MRN, with the operations that name them. A patient that is not in the
 * cache can still be named by requests, so an unknown MRN is not an error.
 */
export function findPatientScope(
  { db }: Pick<Context, 'db'>,
  scope: { client_id: string; organization_id: string },
  patient: string,
): Promise<PatientScope> {
  const { client_id } = scope;
  return readPatientScope(
    (query) => db.read(client_id, query),
    (query) => db.search(client_id, query),
    scope,
    patient,
  );
}

/** The scope with what was stored since it was found. */
export async function findPatientScopeAgain(tx: Tx, { patient, ...scope }: PatientScope): Promise<PatientScope> {
  const read: Read = <Row extends object>(query: (sql: Query) => Fragment) => tx<Row[]>`${query(tx)}`;
  const current = await readPatientScope(read, read, scope, patient.mrn ?? patient.id ?? '');
  const operation_ids = [...new Set([...patient.operation_ids, ...current.patient.operation_ids])];
  return { ...current, patient: { ...patient, operation_ids } };
}

async function readPatientScope(
  read: Read,
  search: Read,
  scope: { client_id: string; organization_id: string },
  patient: string,
): Promise<PatientScope> {
  const { client_id, organization_id } = scope;
  const [stored] = await read<Stored>(
    (sql) => sql`
      SELECT id, ehr_id, mrn, doc ->> 'last_name' AS last_name, dob,
             array_remove(ARRAY[${digits(sql, sql`phone`)}, ${digits(sql, sql`cell_phone`)}], NULL) AS phones
        FROM patients WHERE client_id = ${client_id} AND organization_id = ${organization_id}
         AND (mrn = ${patient} OR id = ${parseId(patient) ?? null}::uuid)`,
  );
  const mrn = stored ? stored.mrn : patient;
  const operations = await search<{ id: string }>(
    (sql) => sql`
      SELECT operation_id AS id FROM jobs
       WHERE organization_id = ${organization_id} AND id IN (${jobsOfPatient(sql, client_id, mrn ?? '')})
      UNION SELECT jobs.operation_id FROM events JOIN jobs ON jobs.id = events.job_id
       WHERE events.client_id = ${client_id} AND jobs.organization_id = ${organization_id}
         AND ${mrn}::text = ANY (events.mrns)
      -- The operation that creates a patient has the patient's id.
      UNION SELECT id FROM operations WHERE id = ${stored?.id ?? null}::uuid
      ${stored ? sql`UNION ${liveFetches(sql, scope, stored)}` : sql``}`,
  );
  const operation_ids = operations.map(({ id }) => id);
  return {
    of: 'patient',
    client_id,
    organization_id,
    patient: { id: stored?.id ?? null, ehr_id: stored?.ehr_id ?? null, mrn, operation_ids },
  };
}

/**
 * Live fetches that searched for this name, date of birth or phone number. They may have been about someone else: that
 * costs only their history.
 */
function liveFetches(
  sql: Query,
  { client_id, organization_id }: { client_id: string; organization_id: string },
  { last_name, dob, phones }: Stored,
): Fragment {
  return sql`
    SELECT id FROM operations
     WHERE client_id = ${client_id} AND organization_id = ${organization_id} AND type = 'patient.fetch'
       AND (lower(input ->> 'last_name') = lower(${last_name}::text) OR input ->> 'dob' = ${dob}::text
         OR ${digits(sql, sql`input ->> 'phone'`)} = ANY (${phones}::text[]))`;
}

function digits(sql: Query, text: Fragment): Fragment {
  return sql`nullif(regexp_replace(${text}, '\\D', '', 'g'), '')`;
}
