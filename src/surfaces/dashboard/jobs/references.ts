import { type TObject, Type } from 'typebox';

import type { Reference } from '../../../model/fields.ts';
import { record_kinds } from '../../../model/records/kinds.ts';
import type { Database, Fragment, Query } from '../../../platform/db/database.ts';
import { limitTo } from '../../../platform/db/fragments.ts';
import { addDays, isDate } from '../../../platform/time/days.ts';
import { readAvailability } from '../../../product/records/readAvailability.ts';
import type { Scope } from '../../../product/records/readRecords.ts';
import { writes } from '../../../product/writes/writes.ts';
import type { Choice, RequestField } from './schema.ts';

/** What a field of a request names (model/fields.ts); empty if it is a value of its own. */
export function findReferences({ properties }: TObject, field: string): readonly Reference[] {
  const own: { refers_to?: readonly Reference[]; items?: { refers_to?: readonly Reference[] } } =
    properties[field] ?? {};
  return own.refers_to ?? own.items?.refers_to ?? [];
}

/** A request as its client sent it, with the names of what it refers to. */
export async function describeRequest(
  db: Database,
  { client_id, organization_id, type, input }: Scope & { type: string; input: Record<string, unknown> },
): Promise<RequestField[]> {
  const { body } = writes.find((write) => write.type === type) ?? {};
  const request = body
    ? Object.fromEntries(Object.keys(body.properties).flatMap((name) => (name in input ? [[name, input[name]]] : [])))
    : changedFields(input);
  const names = await nameReferences(db, { client_id, organization_id }, body ?? no_fields, request);
  return Object.entries(request).map(([name, value]) => ({ name, value, names: names.get(name) ?? [] }));
}

const no_fields = Type.Object({});

/** What a change of an existing record changes: it is stored in the form of the EMR's operation and of our record. */
function changedFields(input: Record<string, unknown>): Record<string, unknown> {
  const shown = Object(input.shown ?? Object(input.change).shown) as Record<string, unknown>;
  return Object.keys(shown).length > 0 ? shown : input;
}

const choices_max = 50;
const free_time: Reference = 'availability.range_start';
const free_days = 14;
/** A year with five digits is no date. */
const last_day = '9999-01-01';

/** The next free times of the provider, location and visit type that the request names. */
async function listFreeTimes(db: Database, scope: Scope, request: Record<string, unknown>): Promise<Choice[]> {
  const readText = (name: string) =>
    typeof request[name] === 'string' && request[name] !== '' ? request[name] : undefined;
  const [provider, location, type] = [readText('provider'), readText('location'), readText('type')];
  if (provider === undefined) return [];
  const requested = readText('datetime') ?? readText('date') ?? '';
  const today = new Date().toISOString().slice(0, 10);
  const day = requested.slice(0, 10);
  const start_date = isDate(day) && day > today && day < last_day ? day : today;
  const end_date = addDays(start_date, free_days);
  const { results } = await readAvailability(db, scope, {
    ...{ start_date, end_date, provider_ids: provider, calculation_method: 'equal_slots' },
    max_slot_duration: Math.min(Math.max(Math.round(Number(readText('duration') ?? 30)) || 30, 5), 480),
    ...(location !== undefined && { location_ids: location }),
    ...(type !== undefined && { visit_type: type }),
  });
  const later = results.availability.filter(({ range_start }) => Date.parse(range_start) > Date.now());
  return later.slice(0, choices_max).map(({ range_start, provider_name, timezone_abbr }) => ({
    value: range_start,
    // As the practice's clock shows it.
    label: `${formatClock(range_start)} ${timezone_abbr} · ${provider_name}`,
  }));
}

function formatClock(at: string): string {
  const wall = new Date(`${at.slice(0, 19)}Z`);
  const options = { weekday: 'short', month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit' } as const;
  return wall.toLocaleString('en-US', { ...options, timeZone: 'UTC' });
}

/** The active records, or codes, that a field can name, by their names. */
export async function listChoices(
  db: Database,
  scope: Scope,
  references: readonly Reference[],
  { search, request }: { search: string; request: Record<string, unknown> },
): Promise<Choice[]> {
  if (references.includes(free_time)) return listFreeTimes(db, scope, request);
  const lists = await Promise.all(
    references.map((reference) =>
      readNamed(db, scope, reference, (sql, named) => {
        const matches = sql`position(lower(${search}) IN lower(concat_ws(' ', ${named.label}, ${named.value}))) > 0`;
        return sql`${named.active} AND ${matches} ORDER BY label, value ${limitTo(sql, choices_max)}`;
      }),
    ),
  );
  return lists.flat().slice(0, choices_max);
}

/** The names of what the fields of a request refer to, as far as the service knows them. */
export async function nameReferences(
  db: Database,
  scope: Scope,
  schema: TObject,
  request: Readonly<Record<string, unknown>>,
): Promise<Map<string, Choice[]>> {
  const fields = Object.entries(request).map(async ([field, value]): Promise<[string, Choice[]]> => {
    const values = [value].flat().filter((each) => typeof each === 'string');
    const references = values.length === 0 ? [] : findReferences(schema, field);
    const lists = await Promise.all(
      references.map((reference) =>
        readNamed(
          db,
          scope,
          reference,
          (sql, named) => sql`lower(${named.value}) = ANY (${values.map(toLower)}::text[])`,
        ),
      ),
    );
    return [field, lists.flat()];
  });
  return new Map((await Promise.all(fields)).filter(([, names]) => names.length > 0));
}

function toLower(value: string): string {
  return value.toLowerCase();
}

type Named = { value: Fragment; label: Fragment; active: Fragment };

/** Values with their names, of a kind of records or a list of the settings, of one organization. */
function readNamed(
  db: Database,
  { client_id, organization_id }: Scope,
  reference: Reference,
  condition: (sql: Query, named: Named) => Fragment,
): Promise<Choice[]> {
  const [kind = '', list_or_column = '', column = ''] = reference.split('.');
  if (reference === free_time) return Promise.resolve([]);
  return db.search<Choice>(client_id, (sql) => {
    if (kind === 'settings') {
      const named = { value: sql`entry ->> ${column}`, label: sql`entry ->> 'name'`, active: sql`true` };
      return sql`SELECT ${named.value} AS value, ${named.label} AS label, NULL AS record
          FROM organizations CROSS JOIN LATERAL jsonb_array_elements(
            CASE jsonb_typeof(code_lists -> ${list_or_column}) WHEN 'array' THEN code_lists -> ${list_or_column} ELSE '[]' END) AS entry
         WHERE id = ${organization_id} AND ${condition(sql, named)}`;
    }
    // Only declared kinds become names of tables.
    if (!record_kinds.some(({ name }) => name === kind)) throw new Error(`There are no records of the kind ${kind}.`);
    const named = {
      value: sql`doc ->> ${list_or_column}`,
      label: sql`coalesce(doc ->> 'name', doc ->> 'description')`,
      active: sql`coalesce(doc ->> 'status', 'active') = 'active'`,
    };
    return sql`SELECT ${named.value} AS value, ${named.label} AS label,
        json_build_object('kind', ${kind}::text, 'id', replace(id::text, '-', '')) AS record FROM ${sql(kind)}
      WHERE client_id = ${client_id} AND organization_id = ${organization_id} AND ${condition(sql, named)}`;
  });
}
