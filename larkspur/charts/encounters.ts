import type { Query } from '../database/open.ts';
import type { Page } from '../records/recordKind.ts';
import { listActions } from './telephoneEncounters.ts';

/** An appointment or a telephone encounter. Telephone encounters have further fields, such as caller and message. */
export interface Encounter {
  encounterId: string;
  date: string;
  startTime: string;
  visitType: string;
  statusCode: string;
  providerId: string;
  providerFirstName: string | null;
  providerLastName: string | null;
  reason: string | null;
  facilityId: string;
  facilityName: string | null;
  lockedFlag: 'Y' | 'N';
}

/** A diagnosis of a visit that took place. */
export interface Problem {
  code: string;
  description: string;
  /** MM/DD/YYYY */
  lastSeen: string;
}

/** The diagnoses of the patient's visits, the latest first. */
export function listProblems(sql: Query, patientId: string): Promise<Problem[]> {
  return sql<Problem[]>`
    select diagnosis ->> 'code' as code, max(diagnosis ->> 'description') as description,
      to_char(max(starts_at), 'MM/DD/YYYY') as last_seen
    from appointments cross join lateral jsonb_array_elements(diagnoses) as diagnosis
    where patient_id = ${patientId} group by 1 order by max(starts_at) desc, 1`;
}

/** The visit type of telephone encounters. */
export const TELEPHONE = 'TEL';

/** Past and upcoming, newest first. */
export async function listEncounters(sql: Query, patientId: string, { page, pageSize }: Page) {
  const [counted] = await sql<{ total: number }[]>`
    select (select count(*) from appointments where patient_id = ${patientId})::int
      + (select count(*) from telephone_encounters where patient_id = ${patientId})::int as total`;
  const rows = await sql<(Encounter & { telephone: object | null })[]>`
    select encounter_id, to_char(at, 'MM/DD/YYYY') as date, to_char(at, 'HH24:MI') as start_time, visit_type,
      status_code, provider_id, providers.first_name as provider_first_name, providers.last_name as provider_last_name,
      reason, facility_id, facilities.name as facility_name, locked_flag, telephone
    from (
      select appointment_id as encounter_id, starts_at as at, visit_type_code as visit_type, status_code, provider_id,
        reason, facility_id, locked_flag, null::json as telephone
      from appointments where patient_id = ${patientId}
      union all
      select encounter_id, created_at at time zone (select time_zone from practice), ${TELEPHONE}, status_code,
        provider_id, reason, facility_id, 'N',
        json_build_object('caller', caller, 'message', message, 'notes', notes, 'assignedTo', assigned_to,
          'assignedToName', (select display_name from staff where staff_id = assigned_to), 'answeredBy', created_by,
          'priority', priority, 'hasAttachment', attachment_flag)
      from telephone_encounters where patient_id = ${patientId}
    ) as visits left join providers using (provider_id) left join facilities using (facility_id)
    order by at desc, length(encounter_id) desc, encounter_id desc
    limit ${pageSize} offset ${(page - 1) * pageSize}`;
  const telephoneIds = rows.filter((row) => row.telephone).map((row) => row.encounterId);
  const actions = await listActions(sql, telephoneIds);
  return {
    total: counted?.total ?? 0,
    page,
    pageSize,
    rows: rows.map(({ telephone, ...row }) =>
      telephone ? { ...row, ...telephone, actions: actions.get(row.encounterId) ?? [] } : row,
    ),
  };
}
