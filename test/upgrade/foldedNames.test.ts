import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { migrations_folder } from '../../src/catalog/installation.ts';
import { fold } from '../../src/model/fold.ts';
import { connect } from '../../src/platform/db/database.ts';
import { migrate, migrationNames } from '../../src/platform/db/migrate.ts';
import { namesOfAllCharacters } from '../harness/names.ts';
import { freshDatabase } from '../harness/postgres.ts';

const migration = '0061_name_rule.sql';

/** The rule before the migration. */
function foldBefore(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .replace(/\s+/gu, ' ')
    .trim();
}

/** Accents that the earlier rule turned into a blank, which the migration cannot tell from others. */
const lost = /[\u00b4\u0384\u1fbd\u1fbf\u1ffd\u1ffe]/u;

test('the migration folds stored names as the service folds them now, for every character', async () => {
  const database = await freshDatabase('folded');
  onTestFinished(database.drop);
  const earlier = (await migrationNames()).filter((name) => name < migration);
  await migrate(database.address, { names: earlier });
  const owner = connect(database.address, { max: 1 });
  try {
    const names = namesOfAllCharacters().filter((name) => !lost.test(name));
    const expected = new Map(names.map((name) => [foldBefore(name), fold(name)]));
    // Neither foreign keys nor policies: only the folded columns matter here.
    await owner`SET session_replication_role = replica`;
    const none = '00000000-0000-0000-0000-000000000000';
    await owner`INSERT INTO patients (id, client_id, organization_id, ehr_id, status, first_folded, last_folded, doc,
        source_hash, seen_in)
      SELECT gen_random_uuid(), ${none}, ${none}, number, 'active', name, name, '{}', '', 0
        FROM unnest(${[...expected.keys()]}::text[]) WITH ORDINALITY AS old(name, number)`;
    await owner.unsafe(await readFile(join(migrations_folder, migration), 'utf8'));
    const rows = await owner<{ number: number; first: string; last: string }[]>`
      SELECT ehr_id::int AS number, first_folded AS first, last_folded AS last FROM patients ORDER BY 1`;
    const wrong = [...expected].flatMap(([before, after], at) => {
      const { first, last } = rows[at] ?? {};
      return first === after && last === after ? [] : [{ before, after, first, last }];
    });
    expect(wrong.slice(0, 20)).toStrictEqual([]);
    expect(rows).toHaveLength(expected.size);
  } finally {
    await owner.end({ timeout_ms: 5_000 });
  }
});
