import { toNeedle } from '../../model/fold.ts';
import { type Fragment, type Query, unseen } from '../../platform/db/database.ts';

/** Where names are searched: columns of a table, as `name_suffixes.field` has them, in one or several organizations. */
export type NameScope = {
  client_id: Fragment;
  /** A condition about `name_suffixes.organization_id`. */
  organizations: Fragment;
  fields: readonly string[];
};

/** How `name_suffixes` names a column. */
export function nameField(table: string, column: string): string {
  return `${table}.${column}`;
}

/** The condition that a folded column contains a name. False for a name without searchable characters. */
export function containsName(sql: Query, column: Fragment, name: string): Fragment {
  const needle = toNeedle(name);
  // Null matches nothing, whereas the empty text is part of every name.
  const pattern = needle === null ? null : `%${needle.replace(/[\\%_]/g, '\\$&')}%`;
  return sql`${column} LIKE ${unseen(sql, pattern, 'text')}`;
}

/**
 * The ids of the records that contain a name, some of them repeated. If `exact` is false, also of records that contain
 * only its first 32 characters. Undefined if the name is too short for the index (see 0007_records.sql).
 */
export function recordsNamed(
  sql: Query,
  scope: NameScope,
  name: string,
): { ids: Fragment; exact: boolean } | undefined {
  const range = suffixRange(toNeedle(name) ?? '');
  if (!range) return undefined;
  const { client_id, organizations } = scope;
  const fields = scope.fields.map((field) => unseen(sql, field, 'text')).reduce((all, field) => sql`${all}, ${field}`);
  const ids = sql`SELECT record_id FROM name_suffixes WHERE client_id = ${client_id} AND ${organizations}
    AND field = ANY (ARRAY[${fields}]) AND suffix >= ${unseen(sql, range.from, 'text')}
    AND suffix < ${unseen(sql, range.before, 'text')}`;
  return { ids, exact: range.exact };
}

/**
 * Records, for FROM, by the ids in `named.record_id`, which comes before. Each is looked up by its primary key: left to the
 * planner, it might walk a list in its order and compare ids, because it cannot know how many there are.
 */
export function namedRecords(sql: Query, table: string): Fragment {
  return sql`LATERAL (SELECT * FROM ${sql(table)} WHERE id = named.record_id OFFSET 0)`;
}

/** The lengths of stored suffixes, in characters. */
const length_min = 3;
const length_max = 32;

/** The range of the suffixes that begin with a folded name, in the order of characters. */
function suffixRange(needle: string): { from: string; before: string; exact: boolean } | undefined {
  // As the database receives it. Its characters are code points.
  const characters = [...needle.toWellFormed()];
  if (characters.length < length_min) return undefined;
  const from = characters.slice(0, length_max).join('');
  const before = firstAfter(from);
  return before === undefined ? undefined : { from, before, exact: characters.length <= length_max };
}

/** The first text after all those that begin with a prefix; undefined if there is none. */
function firstAfter(prefix: string): string | undefined {
  const characters = [...prefix];
  for (;;) {
    const last = characters.pop()?.codePointAt(0);
    if (last === undefined) return undefined;
    // Surrogates are not characters.
    if (last < 0x10ffff) return characters.join('') + String.fromCodePoint(last === 0xd7ff ? 0xe000 : last + 1);
  }
}
