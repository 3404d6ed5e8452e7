import type { MrnRule } from '../../emr/connector.ts';
import type { Fragment, Query } from '../../platform/db/database.ts';

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

/** The rule and where it comes from, as a `MrnRuleRow`. */
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
