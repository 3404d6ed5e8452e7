import { createHash } from 'node:crypto';
import { newId, parseId } from '../../catalog/ids.ts';
import type { Fragment, Query, Sql } from '../../platform/db/database.ts';
import { toNameKey, toWords } from './practiceKeys.ts';
import { extendImport, type Import } from './sources.ts';

/** A practice of the directory. */
export type Practice = {
  id: string;
  name: string;
  aliases: string[];
  city: string | null;
  state: string | null;
  parent: string | null;
  connector: string;
  /** As published. */
  address: string;
  search_params: Record<string, string> | null;
};

export type NewPractice = Omit<Practice, 'id'> & {
  source_key: string;
  postal_code: string | null;
  npi: string | null;
  address_key: string;
};

/** In which part of a practice a word is, best first. */
export const word_fields = { name: 0, alias: 1, parent: 2, place: 3 } as const;

export function practiceColumns(sql: Query): Fragment {
  return sql`id, name, aliases, city, state, parent, connector, address, search_params`;
}

export async function findPractice(sql: Query, text: string): Promise<Practice | undefined> {
  const id = parseId(text);
  if (!id) return undefined;
  const [row] = await sql<Practice[]>`SELECT ${practiceColumns(sql)} FROM practices WHERE id = ${id}`;
  return row;
}

export async function hasPractices(sql: Query): Promise<boolean> {
  return (await sql`SELECT 1 AS any FROM practices LIMIT 1`).length > 0;
}

/** Stores a batch of an import. Practices keep their IDs; the words of unchanged ones are left as they are. */
export async function storePractices(db: Sql, current: Import, batch: readonly NewPractice[]): Promise<void> {
  // If a list has a practice twice, the first one counts.
  const by_key = new Map(batch.toReversed().map((each) => [each.source_key, each]));
  await db.begin(async (tx) => {
    await extendImport(tx, current);
    const known = await tx<{ id: string; source_key: string; content_hash: Buffer }[]>`
      SELECT id, source_key, content_hash FROM practices
       WHERE source_id = ${current.source_id} AND source_key = ANY (${[...by_key.keys()]}::text[])`;
    const stored = new Map(known.map((each) => [each.source_key, each]));
    const rows = [...by_key.values()].map((practice) => {
      const before = stored.get(practice.source_key);
      const hash = hashContent(practice);
      return { practice, id: before?.id ?? newId(), hash, changed: before?.content_hash.toString('hex') !== hash };
    });
    await upsert(
      tx,
      current,
      rows.filter(({ changed }) => changed),
    );
    const seen = rows.filter(({ changed }) => !changed).map(({ id }) => id);
    await tx`UPDATE practices SET seen_in = ${current.run}, last_seen = now() WHERE id = ANY (${seen}::uuid[])`;
  });
}

type Row = { practice: NewPractice; id: string; hash: string };

async function upsert(tx: Query, { source_id, run }: Import, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return;
  const values = rows.map(({ practice, id, hash }) => ({ ...practice, id, hash, name_key: toNameKey(practice.name) }));
  await tx`
    INSERT INTO practices (id, source_id, source_key, name, aliases, city, state, postal_code, npi, parent, connector,
        address, address_key, search_params, name_key, content_hash, seen_in, last_seen)
    SELECT id, ${source_id}, source_key, name, aliases, city, state, postal_code, npi, parent, connector,
           address, address_key, search_params, name_key, decode(hash, 'hex'), ${run}, now()
      FROM json_to_recordset(${JSON.stringify(values)}::text::json) AS entry (id uuid, source_key text, name text,
        aliases text[], city text, state text, postal_code text, npi text, parent text, connector text, address text,
        address_key text, search_params jsonb, name_key text, hash text)
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, aliases = excluded.aliases, city = excluded.city,
      state = excluded.state, postal_code = excluded.postal_code, npi = excluded.npi, parent = excluded.parent,
      connector = excluded.connector, address = excluded.address, address_key = excluded.address_key,
      search_params = excluded.search_params, name_key = excluded.name_key, content_hash = excluded.content_hash,
      seen_in = excluded.seen_in, last_seen = excluded.last_seen`;
  await tx`DELETE FROM practice_words WHERE practice_id = ANY (${rows.map(({ id }) => id)}::uuid[])`;
  const words = rows.flatMap(({ id, practice }) =>
    listWords(practice).map(([word, field]) => ({ id, word, field, practice })),
  );
  await tx`INSERT INTO practice_words (practice_id, field, word, state)
    SELECT * FROM unnest(${words.map(({ id }) => id)}::uuid[], ${words.map(({ field }) => field)}::smallint[],
      ${words.map(({ word }) => word)}::text[], ${words.map(({ practice }) => practice.state)}::text[])`;
}

/** Each word with the best part that has it. */
function listWords({ name, aliases, parent, city, state }: NewPractice): [string, number][] {
  const fields = new Map<string, number>();
  const add = (text: string, field: number) => {
    for (const word of toWords(text)) if (!fields.has(word)) fields.set(word, field);
  };
  add(name, word_fields.name);
  for (const alias of aliases) add(alias, word_fields.alias);
  add(parent ?? '', word_fields.parent);
  add(`${city ?? ''} ${state ?? ''}`, word_fields.place);
  return [...fields];
}

/** The version of the rule for keys and words: after a change, all practices are stored again. */
const keys_version = 1;

function hashContent(practice: NewPractice): string {
  return createHash('sha256')
    .update(JSON.stringify([keys_version, practice]))
    .digest('hex');
}

/** How many practices a source has, and how many of them the import did not contain. */
export async function countMissing(
  sql: Query,
  { source_id, run }: Import,
): Promise<{ stored: number; missing: number }> {
  const [row] = await sql<{ stored: number; missing: number }[]>`
    SELECT count(*)::int AS stored, count(*) FILTER (WHERE seen_in < ${run})::int AS missing
      FROM practices WHERE source_id = ${source_id}`;
  return row ?? { stored: 0, missing: 0 };
}

/** Deletes the practices that the import did not contain. */
export async function removeMissing(sql: Query, { source_id, run }: Import): Promise<void> {
  await sql`DELETE FROM practices WHERE source_id = ${source_id} AND seen_in < ${run}`;
}
