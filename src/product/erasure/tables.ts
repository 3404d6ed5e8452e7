import { appointments } from '../../model/records/appointments.ts';
import { record_kinds } from '../../model/records/kinds.ts';
import { patients } from '../../model/records/patients.ts';
import type { Fragment, Query } from '../../platform/db/database.ts';

/** An erasure: everything of a client, of one organization, or of one patient of an organization. */
export type ErasureScope =
  | { of: 'client'; client_id: string }
  | { of: 'organization'; client_id: string; organization_id: string; org_id: string }
  | { of: 'patient'; client_id: string; organization_id: string; patient: ErasedPatient };

export type ErasedPatient = {
  /** Our id, the EMR's id and the MRN, as far as they are known. */
  id: string | null;
  ehr_id: string | null;
  mrn: string | null;
  /** The operations that name the patient. */
  operation_ids: string[];
};

type OrganizationScope = Extract<ErasureScope, { of: 'organization' }>;
type PatientScope = Extract<ErasureScope, { of: 'patient' }>;

/** Which rows of a table belong to an organization and to a patient. Without a rule: none. */
type Rules = {
  organization?: (sql: Query, scope: OrganizationScope) => Fragment;
  patient?: (sql: Query, scope: PatientScope) => Fragment;
  /** Rows named patients, but are deleted before an erasure: only their traces in the table's files remain. */
  patient_traces?: boolean;
};

/**
 * Every table with rows of a client, in the order of deletion: a row goes before those it is found by. Not listed: the
 * audit log, the accounting of disclosures and the disposal report, which have no health data and prove the erasure.
 */
export function erasableTables(): readonly (readonly [table: string, rules: Rules])[] {
  return [
    ['delivery_attempts', through('delivery_id', 'deliveries', 'id', deliveries)],
    ['deliveries', deliveries],
    ['received_requests', received_requests],
    ['events', events],
    ['event_counts', by_account('account_id')],
    ['uploads', by_operation],
    ['job_steps', through('job_id', 'jobs', 'id', jobs)],
    ['jobs', jobs],
    ['lanes', { ...by_organization, patient_traces: true }],
    // A patient's keys stay: they contain no health data, and a repeated request must not be accepted again.
    ['idempotency_keys', by_account('scope_id')],
    ['patient_insurances', patient_insurances],
    ['operations', operations],
    ['public_tokens', by_account('account_id')],
    ['practice_sessions', by_account('account_id')],
    ['page_sign_ins', through('link_token_hash', 'link_tokens', 'token_hash', link_tokens)],
    ['connection_reports', by_account_or_link],
    ['link_consents', by_account_or_link],
    ['link_tokens', link_tokens],
    ['replaced_tokens', by_account('account_id')],
    ['ended_grants', by_account('account_id')],
    ['account_capabilities', by_account('account_id')],
    ['write_limits', by_account('account_id')],
    ['emr_outages', by_account('account_id')],
    ['grant_renewals', by_account('account_id')],
    ['server_markers', server_markers],
    // What is sealed with a deleted key can no longer be decrypted, even in backups.
    ['data_keys', by_account('owner_id')],
    ['name_suffixes', name_suffixes],
    ...record_kinds
      .filter((kind) => kind.name !== 'patient_insurances')
      .map((kind) => [kind.name, recordRules(kind)] as const),
    // After the records: a patient's deletions stay, without the EMR's ids, so that readers of the change feed delete theirs.
    ['record_changes', { ...by_organization, patient_traces: true }],
    ['record_counts', by_organization],
    ['bulk_export_chunks', bulk_export_chunks],
    ['bulk_exports', by_organization],
    ['sync_passes', by_organization],
    ['document_passes', by_organization],
    ['merged_charts', merged_charts],
    ['erased_patients', by_organization],
    ['alerts', by_organization],
    // Only lifted ones: others refuse the erasure.
    ['legal_holds', legal_holds],
    ['requests', by_account('account_id')],
    ['accounts', by_organization],
    ['organizations', { organization: (sql, scope) => sql`id = ${scope.organization_id}` }],
    ['emr_app_pairs', {}],
    ['emr_apps', {}],
    ['signing_keys', {}],
    ['receivers', {}],
    ['webhook_secrets', {}],
    ['webhook_endpoints', {}],
    ['job_periods', {}],
    ['retention_periods', {}],
    ['operator_clients', {}],
    ['operator_reveals', {}],
    ['patient_reads', {}],
    ['client_secrets', {}],
    ['clients', {}],
  ];
}

/** The condition for the rows of a table in a scope; undefined if the table has none. */
export function rowsIn(sql: Query, table: string, rules: Rules, scope: ErasureScope): Fragment | undefined {
  if (scope.of === 'client') return sql`${sql(table === 'clients' ? 'id' : 'client_id')} = ${scope.client_id}`;
  const condition = scope.of === 'organization' ? rules.organization?.(sql, scope) : rules.patient?.(sql, scope);
  // The tenant policy says the same; repeated for the planner.
  return condition && sql`client_id = ${scope.client_id} AND (${condition})`;
}

/**
 * The tables whose files may contain data of a scope, even if none of its rows are left: an upload is deleted when its
 * job has finished, for example.
 */
export function listTables(scope: ErasureScope): string[] {
  const concerns = (rules: Rules) =>
    scope.of === 'client' ||
    (scope.of === 'organization' ? rules.organization : (rules.patient ?? rules.patient_traces));
  return erasableTables()
    .filter(([, rules]) => concerns(rules))
    .map(([table]) => table);
}

const by_organization: Rules = { organization: (sql, scope) => sql`organization_id = ${scope.organization_id}` };

const operations: Rules = {
  ...by_organization,
  patient: (sql, { patient }) => sql`id = ANY (${patient.operation_ids}::uuid[])`,
};

/** Any part may contain the patient. The files are downloaded again then, and the patient is left out when they are read. */
const bulk_export_chunks: Rules = {
  ...by_organization,
  patient: (sql, { organization_id }) => sql`organization_id = ${organization_id}`,
};

/** A marker starts with the id of its operation. */
const server_markers: Rules = {
  ...by_organization,
  patient: (sql, { patient }) => sql`left(marker, 32) IN (
    SELECT replace(id::text, '-', '') FROM unnest(${patient.operation_ids}::uuid[]) AS id)`,
};

const by_operation: Rules = {
  organization: (sql, scope) =>
    sql`operation_id IN (SELECT id FROM operations WHERE organization_id = ${scope.organization_id})`,
  patient: (sql, { patient }) => sql`operation_id = ANY (${patient.operation_ids}::uuid[])`,
};

/**
 * An added insurance has the id of its operation; an updated one is named in its operations, which are deleted later. One
 * that a sync has not read yet has no MRN.
 */
const patient_insurances: Rules = {
  ...by_organization,
  patient: (sql, { organization_id, patient }) => sql`organization_id = ${organization_id}
    AND (patient_mrn = ${patient.mrn} OR patient_ehr_id = ${patient.ehr_id}) OR id = ANY (${patient.operation_ids}::uuid[])
    OR organization_id = ${organization_id} AND ehr_id IN (
    SELECT input ->> 'emr_insurance_id' FROM operations WHERE id = ANY (${patient.operation_ids}::uuid[]))`,
};

/** Also the charts that were merged into the patient's. */
const merged_charts: Rules = {
  ...by_organization,
  patient: (sql, { organization_id, patient }) => sql`organization_id = ${organization_id}
    AND (mrn = ${patient.mrn} OR ehr_id = ${patient.ehr_id} OR ehr_id IN (
      WITH RECURSIVE earlier AS (
        SELECT ehr_id FROM merged_charts WHERE organization_id = ${organization_id} AND merged_into = ${patient.ehr_id}
        UNION SELECT chart.ehr_id FROM earlier JOIN merged_charts AS chart
          ON chart.organization_id = ${organization_id} AND chart.merged_into = earlier.ehr_id
      ) SELECT ehr_id FROM earlier))`,
};

const legal_holds: Rules = {
  ...by_organization,
  patient: (sql, { organization_id, patient }) => sql`organization_id = ${organization_id}
    AND (patient_id = ${patient.id} OR patient_mrn = ${patient.mrn} OR patient_ehr_id = ${patient.ehr_id})`,
};

const jobs: Rules = { ...by_operation, ...by_organization };

/** Found by their jobs, and events about several patients by their MRNs. */
const events: Rules = {
  organization: (sql, scope) => sql`account_id IN (${selectAccounts(sql, scope.organization_id)})`,
  patient: (sql, { organization_id, patient }) => sql`
    job_id IN (SELECT id FROM jobs WHERE operation_id = ANY (${patient.operation_ids}::uuid[]))
    OR ${patient.mrn}::text = ANY (mrns) AND account_id IN (${selectAccounts(sql, organization_id)})`,
};

const deliveries = through('event_id', 'events', 'id', events);

const received_requests: Rules = {
  organization: (sql, scope) => eventTexts(sql, rowsIn(sql, 'events', events, scope)),
  patient: (sql, scope) => eventTexts(sql, rowsIn(sql, 'events', events, scope)),
};

const link_tokens: Rules = { organization: (sql, scope) => sql`org_id = ${scope.org_id}` };

const by_account_or_link: Rules = {
  organization: (
    sql,
    scope,
  ) => sql`account_id IN (${selectAccounts(sql, scope.organization_id)}) OR link_token_hash IN (
    SELECT token_hash FROM link_tokens WHERE org_id = ${scope.org_id})`,
};

function by_account(column: string): Rules {
  return { organization: (sql, scope) => sql`${sql(column)} IN (${selectAccounts(sql, scope.organization_id)})` };
}

/** Rows that refer to the erased rows of another table. */
function through(column: string, parent: string, key: string, rules: Rules): Rules {
  const referring = (sql: Query, scope: ErasureScope) =>
    sql`${sql(column)} IN (SELECT ${sql(key)} FROM ${sql(parent)} WHERE ${rowsIn(sql, parent, rules, scope) ?? sql`false`})`;
  return { organization: referring, ...(rules.patient && { patient: referring }) };
}

function recordRules({ name, mrn_column }: { name: string; mrn_column?: string }): Rules {
  if (mrn_column === undefined) return by_organization;
  return {
    ...by_organization,
    patient: (sql, { organization_id, patient }) =>
      sql`organization_id = ${organization_id} AND (${sql(mrn_column)} = ${patient.mrn}
        ${name === 'patients' ? sql`OR id = ${patient.id}` : sql``})`,
  };
}

/** Patients' names, and those of companies and providers. Deleted before their records, to be counted. */
const name_suffixes: Rules = {
  ...by_organization,
  patient: (sql, scope) =>
    sql`record_id IN (${[patients, appointments]
      .map(
        (kind) =>
          sql`SELECT id FROM ${sql(kind.name)} WHERE ${rowsIn(sql, kind.name, recordRules(kind), scope) ?? sql`false`}`,
      )
      .reduce((all, each) => sql`${all} UNION ALL ${each}`)})`,
};

function selectAccounts(sql: Query, organization_id: string): Fragment {
  return sql`SELECT id FROM accounts WHERE organization_id = ${organization_id}`;
}

/** The built-in receiver stores the id of an event as the text that was sent. */
function eventTexts(sql: Query, condition: Fragment | undefined): Fragment {
  return sql`event_id IN (SELECT replace(id::text, '-', '') FROM events WHERE ${condition ?? sql`false`})`;
}
