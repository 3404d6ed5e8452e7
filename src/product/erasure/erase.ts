import { setTimeout as pause } from 'node:timers/promises';
import { apiError } from '../../catalog/errors.ts';
import type { Fragment, Query, Tx } from '../../platform/db/database.ts';
import { addErasedTables } from '../../platform/db/erasedTables.ts';
import { type SignOutContext, signOutAccounts } from '../accounts/signOutAccounts.ts';
import { revokeSecrets } from '../clients/secrets.ts';
import type { Context } from '../context.ts';
import { invalidateLinks } from '../link/linkTokens.ts';
import { unlinkAccount } from '../link/unlinkAccount.ts';
import { forgetInChanges } from '../records/changes.ts';
import { addErasedPatient } from '../records/storeRecords.ts';
import { recordDisposals } from './disposals.ts';
import { refuseIfHeld } from './holds.ts';
import { findPatientScopeAgain } from './scopes.ts';
import { type ErasureScope, erasableTables, listTables, rowsIn } from './tables.ts';

export type EraseContext = SignOutContext & Pick<Context, 'lookups' | 'notifications' | 'system_keys'>;

/** Rows per table; tables without rows are left out. */
export type ErasureCounts = Record<string, number>;
export type ErasurePlan = { rows: ErasureCounts; linked_accounts: number; unfinished_jobs: number };

/** How long an erasure waits for the jobs of the accounts it has unlinked. */
const wait_ms = 15_000;

/** Counts what an erasure would delete, and deletes nothing. A legal hold refuses it like the erasure itself. */
export async function planErasure(ctx: Pick<Context, 'db'>, scope: ErasureScope): Promise<ErasurePlan> {
  return ctx.db.tenant(scope.client_id, async (tx) => {
    await refuseIfHeld(tx, scope);
    await allowTime(tx);
    const rows: ErasureCounts = {};
    for (const [table, rules] of erasableTables()) {
      const condition = rowsIn(tx, table, rules, scope);
      if (!condition) continue;
      const [counted] = await tx<{ n: number }[]>`SELECT count(*) AS n FROM ${tx(table)} WHERE ${condition}`;
      if (counted && counted.n > 0) rows[table] = counted.n;
    }
    const linked = scope.of === 'patient' ? [] : await linkedAccounts(tx, scope);
    return { rows, linked_accounts: linked.length, unfinished_jobs: await countUnfinished(tx, scope) };
  });
}

/**
 * Deletes everything in a scope in one transaction, with the record that proves it. Jobs are never deleted before they
 * have finished, or a write could be lost or sent twice. A patient's unfinished jobs refuse the erasure. The accounts of
 * an organization or a client are unlinked first, which makes their jobs fail; the erasure waits for that, and refuses if
 * it takes too long. A legal hold refuses it before anything is changed.
 */
export async function erase(
  ctx: EraseContext,
  requested: ErasureScope,
  record: (tx: Tx, rows: ErasureCounts) => Promise<void>,
): Promise<ErasureCounts> {
  await ctx.db.tenant(requested.client_id, (tx) => refuseIfHeld(tx, requested));
  if (requested.of !== 'patient') {
    await unlinkAll(ctx, requested);
    await untilIdle(ctx, requested);
  }
  const rows = await ctx.db.tenant(requested.client_id, async (tx) => {
    await allowTime(tx);
    const scope = await lock(tx, requested);
    // Again: nobody can place a hold from now on until the rows are deleted.
    await refuseIfHeld(tx, scope);
    const jobs = await countUnfinished(tx, scope);
    if (jobs > 0) throw apiError('erasure_blocked', { jobs: String(jobs) });
    if (scope.of === 'patient') await forgetInChanges(tx, scope);
    const [client] = await tx<{ public_id: string }[]>`SELECT public_id FROM clients WHERE id = ${scope.client_id}`;
    const deleted = await deleteRows(tx, scope);
    const disposals = Object.entries(deleted).map(([data, rows]) => ({
      data,
      rows,
      rule: `erase_${scope.of}` as const,
    }));
    await recordDisposals(tx, { id: scope.client_id, public_id: client?.public_id ?? '' }, disposals);
    await addErasedTables(tx, listTables(scope));
    if (scope.of === 'patient') await addErasedPatient(ctx, tx, scope, scope.patient);
    await record(tx, deleted);
    await tx`SELECT pg_notify('chartwire_access', ${scope.client_id})`;
    return deleted;
  });
  ctx.lookups.clear();
  return rows;
}

/** Erasing a large organization takes longer than any request may. */
async function allowTime(tx: Tx): Promise<void> {
  await tx`SELECT set_config('statement_timeout', '0', true)`;
}

type AccountScope = Exclude<ErasureScope, { of: 'patient' }>;

/** Stops new requests, and lets the jobs in progress fail with their events. */
async function unlinkAll(ctx: EraseContext, scope: AccountScope): Promise<void> {
  await ctx.db.tenant(scope.client_id, async (tx) => {
    if (scope.of === 'client') await revokeSecrets(tx, scope.client_id);
    await invalidateLinks(tx, scope.of === 'client' ? undefined : scope.org_id);
    for (const { id } of await linkedAccounts(tx, scope)) await unlinkAccount(ctx, tx, id);
  });
  ctx.lookups.clear();
  ctx.notifications.notify('chartwire_jobs', scope.client_id);
}

/** Waits for the jobs, and for the first attempts to deliver their events and to end the sessions at the EMR. */
async function untilIdle(ctx: EraseContext, scope: AccountScope): Promise<void> {
  const deadline = Date.now() + wait_ms;
  const busy = async () => {
    await signOutAccounts(ctx);
    return ctx.db.tenant(scope.client_id, (tx) => isBusy(tx, scope));
  };
  while ((await busy()) && Date.now() < deadline) await pause(100);
}

async function isBusy(tx: Tx, scope: AccountScope): Promise<boolean> {
  if ((await countUnfinished(tx, scope)) > 0) return true;
  const [pending] = await tx`SELECT FROM deliveries JOIN events ON events.id = deliveries.event_id
     WHERE deliveries.attempts = 0 AND deliveries.ready_at <= now() AND events.account_id IN (${accountsIn(tx, scope)})
    UNION ALL SELECT FROM ended_grants WHERE next_at <= now() AND account_id IN (${accountsIn(tx, scope)}) LIMIT 1`;
  return pending !== undefined;
}

/**
 * In the order that linking uses: client, organization, accounts. New jobs refer to their account and wait. Jobs that
 * were accepted since a patient's scope was found are added to the returned one.
 */
async function lock(tx: Tx, scope: ErasureScope): Promise<ErasureScope> {
  if (scope.of === 'client') await tx`SELECT FROM clients WHERE id = ${scope.client_id} FOR UPDATE`;
  await tx`SELECT FROM organizations WHERE ${organizationsIn(tx, scope)} ORDER BY id FOR UPDATE`;
  if (scope.of === 'patient') {
    const current = await findPatientScopeAgain(tx, scope);
    await tx`SELECT FROM operations WHERE id = ANY (${current.patient.operation_ids}::uuid[]) ORDER BY id FOR UPDATE`;
    return current;
  }
  await tx`SELECT FROM accounts WHERE id IN (${accountsIn(tx, scope)}) ORDER BY id FOR UPDATE`;
  return scope;
}

async function deleteRows(tx: Tx, scope: ErasureScope): Promise<ErasureCounts> {
  const deleted: ErasureCounts = {};
  for (const [table, rules] of erasableTables()) {
    const condition = rowsIn(tx, table, rules, scope);
    if (!condition) continue;
    const { count } = await tx`DELETE FROM ${tx(table)} WHERE ${condition}`;
    if (count > 0) deleted[table] = count;
  }
  return deleted;
}

async function countUnfinished(tx: Tx, scope: ErasureScope): Promise<number> {
  const condition =
    scope.of === 'patient'
      ? tx`operation_id = ANY (${scope.patient.operation_ids}::uuid[])`
      : tx`account_id IN (${accountsIn(tx, scope)})`;
  const [row] = await tx<{ n: number }[]>`
    SELECT count(*) AS n FROM jobs WHERE state IN ('queued', 'running') AND ${condition}`;
  return row?.n ?? 0;
}

function linkedAccounts(tx: Tx, scope: AccountScope): Promise<{ id: string }[]> {
  return tx<{ id: string }[]>`
    SELECT id FROM accounts WHERE id IN (${accountsIn(tx, scope)}) AND status <> 'revoked' ORDER BY id`;
}

function accountsIn(sql: Query, scope: AccountScope): Fragment {
  return scope.of === 'client'
    ? sql`SELECT id FROM accounts WHERE client_id = ${scope.client_id}`
    : sql`SELECT id FROM accounts WHERE organization_id = ${scope.organization_id}`;
}

function organizationsIn(sql: Query, scope: ErasureScope): Fragment {
  return scope.of === 'client' ? sql`client_id = ${scope.client_id}` : sql`id = ${scope.organization_id}`;
}
