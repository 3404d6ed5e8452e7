import { type ApiError, apiError } from '../../catalog/errors.ts';
import { fold } from '../../model/fold.ts';
import type { LocationSource } from '../../model/records/locations.ts';
import { visitStatuses } from '../../model/records/visitStatuses.ts';
import { type VisitCode, visitTypes } from '../../model/records/visitTypes.ts';
import { PatientRequest } from '../../model/requests/patients.ts';
import { type CodeLists, standard_minutes } from '../../model/settings.ts';
import type { Database, Fragment, Query, Tx } from '../../platform/db/database.ts';
import { responseJson, type Scope } from './readRecords.ts';

/** The settings of an account's organization as response JSON. Before the first sync its lists are empty, and the response says so. */
export async function readSettings(
  db: Database,
  account: Scope & { reference_id: string; connector: string; capabilities: readonly string[] },
): Promise<string> {
  const { client_id, organization_id, reference_id, connector, capabilities } = account;
  const rows = await db.read<{ body: string }>(client_id, (sql) => {
    const codes = (table: string) => sql`(SELECT coalesce(json_agg(doc ORDER BY id), '[]') FROM ${sql(table)}
      WHERE client_id = ${client_id} AND organization_id = ${organization_id})`;
    const list = (name: keyof CodeLists) => sql`coalesce(nullif(code_lists -> ${name}, 'null'), '[]')`;
    return sql`
      SELECT ${responseJson(
        sql,
        account,
        [visitTypes, visitStatuses],
        sql`'data', json_build_object(
        'access_token_reference_id', ${reference_id}::text,
        'emr_name', ${connector}::text,
        'timezone', timezone,
        'default_appointment_minutes', coalesce(default_appointment_minutes, ${standard_minutes}::int),
        'capabilities', to_json(${[...capabilities]}::text[]),
        'visit_types', ${codes('visit_types')},
        'visit_statuses', ${codes('visit_statuses')},
        'languages', ${list('languages')},
        'races', ${list('races')},
        'ethnicities', ${list('ethnicities')},
        'payment_methods', ${list('payment_methods')},
        'phone_call_types', ${list('phone_call_types')},
        'required_patient_fields', ${requiredFields(sql)})`,
      )} AS body
        FROM organizations WHERE id = ${organization_id}`;
  });
  return rows[0]?.body ?? '';
}

/** What a new patient requires: the fields of the declaration, then those that the EMR requires in addition. */
function requiredFields(sql: Query): Fragment {
  return sql`(SELECT json_agg(name ORDER BY n) FROM (
    SELECT name, min(n) AS n FROM (
      SELECT name, n FROM unnest(${[...PatientRequest.required]}::text[]) WITH ORDINALITY AS ours (name, n)
      UNION ALL
      SELECT name, ${PatientRequest.required.length}::int + n
        FROM jsonb_array_elements_text(coalesce(code_lists -> 'required_patient_fields', '[]')) WITH ORDINALITY
          AS added (name, n)
    ) AS required GROUP BY name) AS listed)`;
}

/** Names of the organization's locations by EMR id. */
export async function locationNames(tx: Tx, scope: { organization_id: string }): Promise<ReadonlyMap<string, string>> {
  const rows = await tx<{ ehr_id: string; name: string }[]>`
    SELECT ehr_id, doc ->> 'name' AS name FROM locations WHERE organization_id = ${scope.organization_id}`;
  return new Map(rows.map((row) => [row.ehr_id, row.name]));
}

/** EMR ids of the locations that take no appointments. */
export async function inactiveLocations(tx: Tx, scope: { organization_id: string }): Promise<ReadonlySet<string>> {
  const rows = await tx<{ ehr_id: string }[]>`SELECT ehr_id FROM locations
    WHERE organization_id = ${scope.organization_id} AND doc ->> 'status' = 'inactive'`;
  return new Set(rows.map(({ ehr_id }) => ehr_id));
}

/** Sets a location's status, which later syncs do not overwrite. False if the organization has no such location. */
export async function setLocationStatus(
  tx: Tx,
  organization_id: string,
  id: string,
  status: LocationSource['status'],
): Promise<boolean> {
  const changed = await tx`UPDATE locations SET status_set = ${status}, source_hash = '',
      doc = (doc::jsonb || jsonb_build_object('status', ${status}::text))::json
    WHERE organization_id = ${organization_id} AND id = ${id} RETURNING id`;
  return changed.length > 0;
}

/** The status of a location or provider in a request: `active` or `inactive`, in any case. */
export function parseStatus(text: string): 'active' | 'inactive' {
  const status = text.toLowerCase();
  if (status === 'active' || status === 'inactive') return status;
  throw apiError('invalid_field', { rule: 'status must be one of: active, inactive' }, { field: 'status' });
}

/** More codes than this are not listed in an error message. */
const listed_max = 50;

export async function listVisitTypes(source: Database | Tx, scope: Scope): Promise<VisitCode[]> {
  const query = (sql: Query) => sql`SELECT doc ->> 'code' AS code, doc ->> 'description' AS description
    FROM visit_types WHERE organization_id = ${scope.organization_id} ORDER BY id`;
  return 'read' in source
    ? source.read<VisitCode>(scope.client_id, query)
    : [...(await source<VisitCode[]>`${query(source)}`)];
}

/**
 * The visit type that a request names by its code or description, in any letter case. Undefined if there is none, or
 * if several match and none of them exactly: a wrong guess would book or count another type.
 */
export function findVisitType(types: readonly VisitCode[], name: string): VisitCode | undefined {
  const exact = types.find(({ code }) => code === name);
  if (exact) return exact;
  const folded = fold(name);
  for (const key of ['code', 'description'] as const) {
    const [first, ...others] = types.filter((type) => fold(type[key]) === folded);
    if (first) return others.length === 0 ? first : undefined;
  }
  return undefined;
}

/** `or_all`: the field also takes the word `all`. */
export function unknownVisitType(
  field: string,
  path: string,
  types: readonly VisitCode[],
  { or_all }: { or_all: boolean },
): ApiError {
  const names = [...(or_all ? ['all'] : []), ...types.map(({ code }) => code)];
  const more = names.length - listed_max;
  const rule =
    names.length === 0
      ? `${path} is not possible, because the EMR lists no visit types`
      : `${path} must be one of: ${names.slice(0, listed_max).join(', ')}`;
  return apiError(
    'invalid_field',
    { rule: more > 0 ? `${rule} and ${more} others, which GET /v1/visit-types lists` : rule },
    { field },
  );
}
