import type { Evidence, MrnRule } from '../../emr/connector.ts';
import { EmrFailure } from '../../emr/emrFailure.ts';
import {
  type Capability,
  list_names,
  type OperationName,
  type Operations,
  read_names,
} from '../../emr/operations/operations.ts';
import type { Fragment, Query, Tx } from '../../platform/db/database.ts';

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
export function listSupported({ capabilities, evidence = [] }: Findings): Capability[] {
  const refused = new Set(evidence.filter(({ state }) => state === 'refused').map(({ capability }) => capability));
  return capabilities.filter((name) => !refused.has(name));
}

/**
 * Stores the findings. A capability that was seen to work stays so until the server no longer supports it. One that was
 * refused in use stays refused until `forgetRefusals`, with the server's reason. A connector that remembers a refusal
 * reports it, and then decides when it ends.
 */
export async function storeEvidence(tx: Tx, { id, client_id }: Owner, findings: Findings): Promise<void> {
  const by_capability = new Map<Capability, Evidence>(
    findings.capabilities.map((capability) => [capability, { capability, state: 'declared' }]),
  );
  for (const finding of findings.evidence ?? []) {
    if (by_capability.has(finding.capability) || finding.state === 'refused')
      by_capability.set(finding.capability, finding);
  }
  const all = [...by_capability.values()];
  await tx`DELETE FROM account_capabilities WHERE account_id = ${id} AND capability <> ALL (${[...by_capability.keys()]})`;
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

const reads = [...list_names, ...read_names];

/** A refused read is attempted again after a day: the permission may be back, and reading changes nothing. */
function refusedInUse(sql: Query) {
  return sql`(known.refused_in_use AND (known.capability <> ALL (${reads}) OR known.at > now() - interval '1 day'))`;
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

/** Observes what happens when an operation is used. */
export type OperationObserver = {
  /** Makes the call; for a list, once per page. */
  call: <T>(name: OperationName, work: () => Promise<T>) => Promise<T>;
  worked: (name: OperationName) => Promise<void>;
  /** The server does not support the operation for this account, whatever its input. */
  refused: (name: OperationName, failure: EmrFailure) => Promise<void>;
};

type Call = (...args: unknown[]) => Promise<unknown>;
type ListCall = (...args: unknown[]) => AsyncIterable<unknown>;
type Write = { send: Call; find?: Call };

const listings: ReadonlySet<OperationName> = new Set(list_names);

/**
 * The same operations, observed. A list that was read to its end is not reported: whoever reads it knows the number of
 * records. Neither is `find`, which looks a write up and does not prove that it can be sent.
 */
export function watchOperations(operations: Partial<Operations>, observer: OperationObserver): Partial<Operations> {
  const watched = Object.entries(operations).map(([key, operation]) => {
    // The type of the operations allows no other keys.
    const name = key as OperationName;
    if (typeof operation !== 'function') {
      const write = operation as Write;
      const { find } = write;
      return [
        name,
        {
          ...write,
          send: (...args: unknown[]) => observe(observer, name, () => write.send(...args)),
          ...(find && { find: (...args: unknown[]) => observer.call(name, () => find(...args)) }),
        },
      ];
    }
    const observed = listings.has(name)
      ? (...args: unknown[]) => observePages(observer, name, (operation as ListCall)(...args))
      : (...args: unknown[]) => observe(observer, name, () => (operation as Call)(...args));
    // A list says in a property whether it can list changes alone.
    return [name, Object.assign(observed, operation)];
  });
  return Object.fromEntries(watched);
}

async function observe<T>(observer: OperationObserver, name: OperationName, work: () => Promise<T>): Promise<T> {
  const value = await observer.call(name, work).catch((error: unknown) => rethrow(observer, name, error));
  await observer.worked(name);
  return value;
}

async function* observePages(observer: OperationObserver, name: OperationName, pages: AsyncIterable<unknown>) {
  const iterator = pages[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await observer.call(name, () => iterator.next());
      if (done) return;
      yield value;
    }
  } catch (error) {
    await rethrow(observer, name, error);
  } finally {
    // Also if the reader stopped early.
    await iterator.return?.();
  }
}

async function rethrow(observer: OperationObserver, name: OperationName, error: unknown): Promise<never> {
  if (error instanceof EmrFailure && error.not_offered) await observer.refused(name, error);
  throw error;
}

/** What an operator set, for an EMR app or an organization. Both null: not set. */
export type MrnSetting = { mrn_system: string | null; mrn_type: string | null };

/**
 * The rule that applies to an account: its organization's, else its app's, else the one that linking derived from a
 * sample of patients. Null: the connector decides per patient. For queries of `accounts` and `organizations` by name.
 */
export function mrnRule(sql: Query): Fragment {
  return sql`coalesce(${ruleIn(sql, sql`organizations`)},
    (SELECT ${ruleIn(sql, sql`app`)} FROM emr_apps AS app WHERE app.id = accounts.emr_app_id), organizations.mrn_guess)`;
}

/**
 * Which identifier is the MRN, and who says so. `organization`, `app`: set by an operator. `guess`: from a sample of
 * patients. `none`: decided per patient.
 */
export type DescribedMrnRule = {
  system: string | null;
  type: string | null;
  source: 'organization' | 'app' | 'guess' | 'none';
};

/** The rule and where it comes from, as a `DescribedMrnRule`. */
export function describedMrnRule(sql: Query): Fragment {
  return sql`json_build_object('system', ${mrnRule(sql)} ->> 'system', 'type', ${mrnRule(sql)} ->> 'type',
    'source', ${source(sql)})`;
}

function source(sql: Query): Fragment {
  return sql`CASE WHEN ${ruleIn(sql, sql`organizations`)} IS NOT NULL THEN 'organization'
    WHEN (SELECT ${ruleIn(sql, sql`app`)} FROM emr_apps AS app WHERE app.id = accounts.emr_app_id) IS NOT NULL THEN 'app'
    WHEN organizations.mrn_guess IS NOT NULL THEN 'guess' ELSE 'none' END`;
}

/** Null if neither column is set. */
function ruleIn(sql: Query, table: Fragment): Fragment {
  return sql`nullif(jsonb_strip_nulls(jsonb_build_object('system', ${table}.mrn_system, 'type', ${table}.mrn_type)), '{}')`;
}

/** A rule as text, to compare it with the one that records were read with. */
export function toRuleKey(rule: MrnRule | null): string {
  return rule === null ? '' : JSON.stringify([rule.system ?? null, rule.type ?? null]);
}
