import { matchHost } from '../../emr/endpointPins.ts';
import type { Fragment, Query } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';
import { toNameKey, toWords } from './practiceKeys.ts';
import { type Practice, practiceColumns, word_fields } from './practices.ts';
import { toState } from './states.ts';

/** A list that people read. A longer one is narrowed by another word. */
export const results_max = 20;

const words_max = 8;
/** Rows that are ranked, for each part of a practice. Of a word that more practices have, these are any of them. */
const candidates_max = 100;

/**
 * Practices with a word that begins with each word of the query, best first: the name itself, names that begin with the
 * query, words of the name, then of another name, then of the parent or the place.
 */
export async function searchPractices(
  { db }: Pick<Context, 'db'>,
  client_id: string,
  { query, state: state_text }: { query: string; state?: string | undefined },
): Promise<Practice[]> {
  const words = [...new Set(toWords(query))].slice(0, words_max);
  const state = toState(state_text ?? null);
  if (words.length === 0) return [];
  const ordered = words.length === 1 ? words : await orderByFrequency(db, client_id, words);
  const find = (fields: readonly number[]) =>
    db.search<Match>(client_id, (sql) => matching(sql, { query, state, fields, words: ordered }));
  const by_name = await find([word_fields.name]);
  // Nothing else is better than the words of a name, which most people type.
  if (by_name.length >= results_max) return rank(by_name, query, words).slice(0, results_max);
  const { name: _name, ...other_fields } = word_fields;
  const all = new Map([...by_name, ...(await find(Object.values(other_fields)))].map((each) => [each.id, each]));
  return rank([...all.values()], query, words).slice(0, results_max);
}

type Match = Practice & { name_key: string };
type Criteria = { query: string; state: string | null; fields: readonly number[]; words: readonly string[] };

/** Practices that have the first word in one of the fields, and the others anywhere. */
function matching(sql: Query, { query, state, fields, words: [rarest = '', ...others] }: Criteria): Fragment {
  const in_state = state === null ? sql`` : sql`AND state = ${state}`;
  const by_prefix = sql`
    (SELECT id FROM practices WHERE ${beginsWith(sql, sql`name_key`, toNameKey(query))} ${in_state}
      ORDER BY name_key, id LIMIT ${results_max})`;
  const by_word = fields.map(
    (field) => sql`
      (SELECT practice_id FROM practice_words AS this
        WHERE field = ${field} AND ${beginsWith(sql, sql`word`, rarest)} ${in_state} ${haveAll(sql, others)}
        LIMIT ${candidates_max})`,
  );
  const all = [...(fields.includes(word_fields.name) ? [by_prefix] : []), ...by_word];
  return sql`
    SELECT ${practiceColumns(sql)}, name_key FROM practices
     WHERE id IN (${all.reduce((some, each) => sql`${some} UNION ${each}`)})`;
}

/** The end of the range is the highest character, as the columns are compared by bytes. */
function beginsWith(sql: Query, column: Fragment, prefix: string): Fragment {
  return sql`${column} >= ${prefix} AND ${column} < ${`${prefix}\u{10ffff}`}`;
}

function haveAll(sql: Query, words: readonly string[]): Fragment {
  return words.reduce(
    (all, word) => sql`${all} AND EXISTS (SELECT FROM practice_words AS other
      WHERE other.practice_id = this.practice_id AND ${beginsWith(sql, sql`other.word`, word)})`,
    sql``,
  );
}

const counted_max = 2000;

/** The rarest first, by which the candidates are found: the others are looked up for each of them. */
async function orderByFrequency(db: Context['db'], client_id: string, words: readonly string[]): Promise<string[]> {
  const fields = Object.values(word_fields);
  const rows = await db.search<{ word: string }>(
    client_id,
    (sql) => sql`
      SELECT searched.word FROM unnest(${[...words]}::text[]) AS searched (word), LATERAL (
        SELECT count(*) AS rows FROM (
          SELECT FROM practice_words WHERE field = ANY (${fields}::smallint[])
             AND practice_words.word >= searched.word COLLATE "C"
             AND practice_words.word < (searched.word || ${'\u{10ffff}'}) COLLATE "C" LIMIT ${counted_max}) AS matching
      ) AS counted ORDER BY rows, length(searched.word) DESC`,
  );
  return rows.map(({ word }) => word);
}

function rank(practices: readonly Match[], query: string, words: readonly string[]): Match[] {
  const key = toNameKey(query);
  const ranked = practices.map((practice) => ({ practice, tier: findTier(practice, key, words) }));
  const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  ranked.sort(
    (a, b) =>
      a.tier - b.tier ||
      compare(a.practice.name_key, b.practice.name_key) ||
      compare(a.practice.city ?? '', b.practice.city ?? '') ||
      compare(a.practice.id, b.practice.id),
  );
  return ranked.map(({ practice }) => practice);
}

function findTier({ name_key, aliases, parent }: Match, key: string, words: readonly string[]): number {
  if (name_key === key) return 0;
  if (name_key.startsWith(key)) return 1;
  const missing = without(words, name_key.split(' '));
  if (missing.length === 0) return 2;
  const not_in_alias = without(missing, aliases.flatMap(toWords));
  if (not_in_alias.length === 0) return 3;
  return without(not_in_alias, toWords(parent ?? '')).length === 0 ? 4 : 5;
}

/** The words that none of the others begins with. */
function without(words: readonly string[], others: readonly string[]): string[] {
  return words.filter((word) => !others.some((other) => other.startsWith(word)));
}

type AppHosts = { id: string; connector: string; hosts: string[] };

/** Finds the client's EMR app for each practice, the one with the exact host first; null if it has none. */
export async function findApps(
  { db }: Pick<Context, 'db'>,
  client_id: string,
  practices: readonly Pick<Practice, 'connector' | 'address'>[],
): Promise<(string | null)[]> {
  const apps = await db.read<AppHosts>(
    client_id,
    (sql) => sql`SELECT id, connector, hosts FROM emr_apps WHERE registered ORDER BY id`,
  );
  return practices.map(({ connector, address }) => {
    const matches = apps.map((app) => ({ app, match: app.connector === connector && matchHost(app.hosts, address) }));
    const best = matches.find(({ match }) => match === 'exact') ?? matches.find(({ match }) => match === 'wildcard');
    return best?.app.id ?? null;
  });
}
