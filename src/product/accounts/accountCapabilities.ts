import type { Capability } from '../../emr/connector.ts';
import type { Evidence } from '../../emr/evidence.ts';
import type { Query, Tx } from '../../platform/db/database.ts';

type Owner = { id: string; client_id: string };

/** A capability that is known to work is recorded again after this time, so that its date stays meaningful. */
const known_hours = 24;

/**
 * The capabilities of an account that were seen to work within the last day: another success says nothing new. Part of
 * the query that opens the account, so that the usual write needs no additional statement.
 */
export function knownToWork(sql: Query) {
  return sql`ARRAY(SELECT capability FROM account_capabilities AS known WHERE known.account_id = accounts.id
    AND known.state = 'works' AND known.at > now() - make_interval(hours => ${known_hours}))`;
}

/** What linking, or reading a server's capabilities again, has shown. */
export type Findings = { capabilities: readonly Capability[]; evidence?: readonly Evidence[] };

/** What a server declares and did not refuse when it was probed. */
export function offeredOf({ capabilities, evidence = [] }: Findings): Capability[] {
  const refused = new Set(evidence.filter(({ state }) => state === 'refused').map(({ capability }) => capability));
  return capabilities.filter((name) => !refused.has(name));
}

/**
 * Stores the findings. A capability that was seen to work stays so until the server no longer offers it. One that was
 * refused in use stays refused until `forgetRefusals`, with the server's reason. A connector that remembers a refusal
 * reports it, and then decides when it ends.
 */
export async function storeEvidence(tx: Tx, { id, client_id }: Owner, findings: Findings): Promise<void> {
  const known = new Map<Capability, Evidence>(
    findings.capabilities.map((capability) => [capability, { capability, state: 'declared' }]),
  );
  for (const found of findings.evidence ?? []) {
    if (known.has(found.capability) || found.state === 'refused') known.set(found.capability, found);
  }
  const all = [...known.values()];
  await tx`DELETE FROM account_capabilities WHERE account_id = ${id} AND capability <> ALL (${[...known.keys()]})`;
  await tx`INSERT INTO account_capabilities AS known (account_id, client_id, capability, state, detail)
    SELECT ${id}::uuid, ${client_id}::uuid, * FROM unnest(${all.map(({ capability }) => capability)}::text[],
      ${all.map(({ state }) => state)}::text[], ${all.map(({ detail }) => detail ?? null)}::text[])
    ON CONFLICT (account_id, capability) DO UPDATE SET state = excluded.state,
      detail = coalesce(excluded.detail, CASE WHEN excluded.state = 'refused' AND known.state = 'refused' THEN known.detail END),
      at = CASE WHEN excluded.state = 'refused' AND known.state = 'refused' THEN known.at ELSE now() END,
      records = CASE WHEN excluded.state <> 'refused' THEN known.records END, refused_in_use = false
    WHERE (NOT ${refusedInUse(tx)} OR excluded.state = 'refused') AND (excluded.state <> 'declared' OR known.state = 'refused')`;
}

/**
 * Records that a capability worked, for a list with the number of stored records. A refusal stays until the account is
 * linked or checked again. Nothing is recorded for an account that is being unlinked.
 */
export async function recordWorking(
  tx: Tx,
  account_id: string,
  capability: Capability,
  records: number | null,
): Promise<void> {
  await tx`INSERT INTO account_capabilities AS known (account_id, client_id, capability, state, records)
    SELECT id, client_id, ${capability}, 'works', ${records}::integer FROM accounts
     WHERE id = ${account_id} AND status <> 'revoked' FOR SHARE
    ON CONFLICT (account_id, capability) DO UPDATE SET state = 'works', detail = NULL, at = now(),
      records = excluded.records
    WHERE known.state <> 'refused' AND (known.state = 'declared' OR known.at < now() - make_interval(hours => ${known_hours})
      OR known.records IS DISTINCT FROM excluded.records)`;
}

/** Records that the server refused a capability when it was used. */
export async function recordRefusal(
  tx: Tx,
  { id, client_id }: Owner,
  capability: Capability,
  detail: string,
): Promise<void> {
  await tx`INSERT INTO account_capabilities (account_id, client_id, capability, state, detail, refused_in_use)
    VALUES (${id}, ${client_id}, ${capability}, 'refused', ${detail}, true)
    ON CONFLICT (account_id, capability) DO UPDATE SET state = 'refused', detail = excluded.detail, records = NULL,
      refused_in_use = true, at = now()`;
}

/** The capabilities that the server declares but refused in use. */
export async function listRefusedInUse(tx: Tx, account_id: string): Promise<Capability[]> {
  const rows = await tx<{ capability: Capability }[]>`
    SELECT capability FROM account_capabilities AS known WHERE account_id = ${account_id} AND ${refusedInUse(tx)}`;
  return rows.map(({ capability }) => capability);
}

/** A list is read again after a day: the right to read it may be back, and reading it changes nothing. */
function refusedInUse(sql: Query) {
  return sql`(known.refused_in_use AND (known.capability NOT LIKE 'list%' OR known.at > now() - interval '1 day'))`;
}

/** Counts refused capabilities as declared again, and returns them. */
export async function forgetRefusals(tx: Tx, account_id: string): Promise<Capability[]> {
  const rows = await tx<{ capability: Capability }[]>`
    UPDATE account_capabilities SET state = 'declared', detail = NULL, refused_in_use = false, at = now()
     WHERE account_id = ${account_id} AND refused_in_use RETURNING capability`;
  return rows.map(({ capability }) => capability);
}

/** Forgets everything about an account that is unlinked. */
export async function removeEvidence(tx: Tx, account_id: string): Promise<void> {
  await tx`DELETE FROM account_capabilities WHERE account_id = ${account_id}`;
}
