import { PatientRequest } from '../../model/patientRequest.ts';
import { visitStatuses } from '../../model/records/visitStatuses.ts';
import { visitTypes } from '../../model/records/visitTypes.ts';
import { type CodeLists, standard_minutes } from '../../model/settings.ts';
import type { Database, Fragment, Query } from '../../platform/db/database.ts';
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
    const list = (name: keyof CodeLists) => sql`coalesce(code_lists -> ${name}, '[]')`;
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
