import { apiError } from '../../catalog/errors.ts';
import { newId, parseId } from '../../catalog/ids.ts';
import type { Fragment, Query, Tx } from '../../platform/db/database.ts';
import { setInputsDeletedThrough } from '../clients/clients.ts';
import { selectCharts } from '../records/mergedCharts.ts';
import { findPatientScopeAgain } from './scopes.ts';
import { type ErasureScope, erasableTables, rowsIn } from './tables.ts';

/** What a legal hold covers: everything of a client, of an organization, or of a patient. */
export const hold_coverages = ['client', 'organization', 'patient'] as const;

export type LegalHold = {
  id: string;
  covers: (typeof hold_coverages)[number];
  org_id: string | null;
  patient_id: string | null;
  patient_mrn: string | null;
  /** What the operator calls the case. */
  reference: string;
  placed_by: string;
  placed_at: string;
  lifted_by: string | null;
  lifted_at: string | null;
};

/** Those of a client, newest first. */
export function listHolds(sql: Query, client_id: string): Promise<LegalHold[]> {
  return sql<LegalHold[]>`${selectHolds(sql, client_id)} ORDER BY hold.placed_at DESC, hold.id DESC`;
}

/**
 * Places a hold. It waits for deletions in progress: what exists when it returns stays. Erasures lock the organizations
 * before they look for holds.
 */
export async function placeHold(
  tx: Tx,
  scope: ErasureScope,
  { reference, placed_by }: { reference: string; placed_by: string },
): Promise<LegalHold> {
  const { client_id } = scope;
  await tx`SELECT pg_advisory_xact_lock(${holds_lock(tx)})`;
  const clients = await tx`SELECT FROM clients WHERE id = ${client_id} FOR KEY SHARE`;
  const of_scope = scope.of === 'client' ? tx`client_id = ${client_id}` : tx`id = ${scope.organization_id}`;
  const organizations = await tx`SELECT FROM organizations WHERE ${of_scope} ORDER BY id FOR KEY SHARE`;
  // Erased while this waited.
  if (clients.length === 0) throw apiError('record_not_found', { noun: 'Client', id: client_id });
  if (scope.of !== 'client' && organizations.length === 0) {
    throw apiError('record_not_found', { noun: 'Organization', id: scope.organization_id });
  }
  const {
    id: patient_id,
    ehr_id,
    mrn,
  } = scope.of === 'patient' ? scope.patient : { id: null, ehr_id: null, mrn: null };
  const id = newId();
  await tx`INSERT INTO legal_holds ${tx.values({
    ...{ id, client_id, covers: scope.of, reference, placed_by },
    organization_id: scope.of === 'client' ? null : scope.organization_id,
    ...{ patient_id, patient_ehr_id: ehr_id, patient_mrn: mrn },
  })}`;
  const [hold] = await tx<LegalHold[]>`${selectHolds(tx, client_id)} AND hold.id = ${id}`;
  if (!hold) throw new Error('The legal hold was not stored.');
  return hold;
}

/**
 * Lifts a hold; undefined if the client has no such hold that is in force. What expired meanwhile is deleted by the next
 * run of the retention periods.
 */
export async function liftHold(
  tx: Tx,
  { client_id, hold_id, lifted_by }: { client_id: string; hold_id: string; lifted_by: string },
): Promise<LegalHold | undefined> {
  const id = parseId(hold_id);
  const { count } = await tx`UPDATE legal_holds SET lifted_at = now(), lifted_by = ${lifted_by}
    WHERE id = ${id ?? null}::uuid AND client_id = ${client_id} AND lifted_at IS NULL`;
  if (count === 0) return undefined;
  // The requests of jobs are deleted in the order of their ends; those that were skipped have their turn again.
  await setInputsDeletedThrough(tx, client_id, '-infinity');
  const [hold] = await tx<LegalHold[]>`${selectHolds(tx, client_id)} AND hold.id = ${id ?? null}::uuid`;
  return hold;
}

/** Throws if a hold covers anything of the scope. The error names the hold, and no patient. */
export async function refuseIfHeld(tx: Tx, scope: ErasureScope): Promise<void> {
  const [hold] = await tx<{ id: string }[]>`
    SELECT replace(id::text, '-', '') AS id FROM legal_holds
     WHERE client_id = ${scope.client_id} AND lifted_at IS NULL AND ${overlaps(tx, scope)} ORDER BY placed_at LIMIT 1`;
  if (hold) throw apiError('legal_hold_active', { hold: hold.id });
}

/** Also a hold for another chart of the patient, whichever of them was merged into the other. */
function overlaps(sql: Query, scope: ErasureScope): Fragment {
  if (scope.of === 'client') return sql`true`;
  const of_organization = sql`organization_id = ${scope.organization_id}`;
  if (scope.of === 'organization') return sql`(covers = 'client' OR ${of_organization})`;
  const { id, ehr_id, mrn } = scope.patient;
  return sql`(covers = 'client' OR ${of_organization} AND (covers = 'organization' OR patient_id = ${id}
    OR patient_mrn = ${mrn} OR patient_ehr_id = ${ehr_id} OR EXISTS (
      SELECT FROM (${selectCharts(sql, scope, scope.patient)}) AS chart
       WHERE chart.ehr_id = patient_ehr_id OR chart.mrn = patient_mrn)))`;
}

/** What the holds of a client cover now. */
export type ActiveHolds = { everything: boolean; scopes: readonly Exclude<ErasureScope, { of: 'client' }>[] };

/**
 * Reads the holds of a client, in a transaction that deletes expired rows: none is placed until it ends. Undefined if
 * there are none.
 */
export async function readActiveHolds(tx: Tx, client_id: string): Promise<ActiveHolds | undefined> {
  await tx`SELECT pg_advisory_xact_lock_shared(${holds_lock(tx)})`;
  const rows = await tx<StoredHold[]>`
    SELECT covers, organization_id, patient_id, patient_ehr_id, patient_mrn,
           (SELECT org_id FROM organizations WHERE organizations.id = organization_id) AS org_id
      FROM legal_holds WHERE client_id = ${client_id} AND lifted_at IS NULL ORDER BY id`;
  if (rows.length === 0) return undefined;
  const scopes: ActiveHolds['scopes'][number][] = [];
  for (const row of rows) {
    const { covers, organization_id, org_id, patient_id, patient_ehr_id, patient_mrn } = row;
    if (organization_id === null || org_id === null) continue;
    if (covers === 'organization') scopes.push({ of: 'organization', client_id, organization_id, org_id });
    if (covers !== 'patient') continue;
    const subject = { id: patient_id, ehr_id: patient_ehr_id, mrn: patient_mrn };
    for (const mrn of await listHeldMrns(tx, { client_id, organization_id }, subject)) {
      const patient = { ...subject, mrn, operation_ids: [] };
      scopes.push(await findPatientScopeAgain(tx, { of: 'patient', client_id, organization_id, patient }));
    }
  }
  return { everything: rows.some(({ covers }) => covers === 'client'), scopes };
}

/**
 * What requests and events may call a held patient: the MRN of then, the one of now, and those of the charts that were
 * merged with it. Null if none is known.
 */
async function listHeldMrns(
  tx: Tx,
  scope: { client_id: string; organization_id: string },
  patient: { id: string | null; ehr_id: string | null; mrn: string | null },
): Promise<(string | null)[]> {
  const [stored] = await tx<{ ehr_id: string | null; mrn: string | null }[]>`
    SELECT ehr_id, mrn FROM patients WHERE organization_id = ${scope.organization_id} AND id = ${patient.id}`;
  const known = { mrn: patient.mrn ?? stored?.mrn ?? null, ehr_id: patient.ehr_id ?? stored?.ehr_id ?? null };
  const charts = await tx<{ mrn: string | null }[]>`${selectCharts(tx, scope, known)}`;
  const mrns = new Set([known.mrn, stored?.mrn ?? null, ...charts.map(({ mrn }) => mrn)]);
  if (mrns.size > 1) mrns.delete(null);
  return [...mrns];
}

/** The rows of a table that are held; undefined if none are. */
export function heldRows(sql: Query, table: string, holds: ActiveHolds | undefined): Fragment | undefined {
  if (!holds) return undefined;
  if (holds.everything) return sql`true`;
  const [, rules] = erasableTables().find(([name]) => name === table) ?? [];
  if (!rules) throw new Error(`There are no rules for the table ${table}.`);
  return holds.scopes
    .flatMap((scope) => rowsIn(sql, table, rules, scope) ?? [])
    .reduce<Fragment | undefined>((all, each) => (all ? sql`${all} OR (${each})` : sql`(${each})`), undefined);
}

/** Clients and organizations that are held, for the data that is deleted across clients. */
export async function readHoldsAcross(tx: Tx): Promise<{ clients: string[]; organizations: string[] }> {
  await tx`SELECT pg_advisory_xact_lock_shared(${holds_lock(tx)})`;
  const holds = await tx<{ client_id: string; covers: LegalHold['covers']; organization_id: string | null }[]>`
    SELECT client_id, covers, organization_id FROM legal_holds WHERE lifted_at IS NULL`;
  return {
    clients: holds.flatMap(({ covers, client_id }) => (covers === 'client' ? [client_id] : [])),
    organizations: holds.flatMap(({ covers, organization_id }) =>
      covers === 'organization' && organization_id !== null ? [organization_id] : [],
    ),
  };
}

type StoredHold = Pick<LegalHold, 'covers' | 'patient_id' | 'patient_mrn'> & {
  organization_id: string | null;
  org_id: string | null;
  patient_ehr_id: string | null;
};

/** Shared by deletions of expired rows, and exclusive while a hold is being placed. */
function holds_lock(sql: Query): Fragment {
  return sql`hashtextextended('chartwire.legal_holds', 0)`;
}

function selectHolds(sql: Query, client_id: string): Fragment {
  return sql`
    SELECT replace(hold.id::text, '-', '') AS id, covers, org_id, replace(patient_id::text, '-', '') AS patient_id,
           patient_mrn, reference, placed_by, iso(placed_at) AS placed_at, lifted_by, iso(lifted_at) AS lifted_at
      FROM legal_holds AS hold LEFT JOIN organizations ON organizations.id = hold.organization_id
     WHERE hold.client_id = ${client_id}`;
}
