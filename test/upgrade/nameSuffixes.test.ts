import { expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/platform/db/database.ts';
import { migrate, migrationNames } from '../../src/platform/db/migrate.ts';
import { nameSuffixes } from '../harness/nameSuffixes.ts';
import { freshDatabase } from '../harness/postgres.ts';
import { createTenant } from '../harness/tenant.ts';

const migration = '0068_name_suffixes.sql';

test('the migration adds the suffixes of all names that are stored', async () => {
  const database = await freshDatabase('suffixes');
  onTestFinished(database.drop);
  await migrate(database.address, { names: (await migrationNames()).filter((name) => name < migration) });
  const owner = connect(database.address, { max: 1 });
  try {
    for (const { client_id, organization_id } of [await createTenant(owner), await createTenant(owner)]) {
      await owner`INSERT INTO patients (id, client_id, organization_id, ehr_id, status, first_folded, last_folded, doc,
          source_hash, seen_in)
        SELECT gen_random_uuid(), ${client_id}, ${organization_id}, n::text, 'active', substr('zoe 😀😀', 1, n),
               repeat('müller', n), '{}', '', 0 FROM generate_series(0, 40) AS n`;
      await owner`INSERT INTO referring_providers (id, client_id, organization_id, ehr_id, status, first_folded, last_folded,
          doc, source_hash, seen_in)
        SELECT gen_random_uuid(), ${client_id}, ${organization_id}, '1', 'active', 'umber', 'consultson', '{}', '', 0`;
      await owner`INSERT INTO insurance_providers (id, client_id, organization_id, ehr_id, status, active, name_folded, doc,
          source_hash, seen_in)
        SELECT gen_random_uuid(), ${client_id}, ${organization_id}, '1', 'active', true, '100% _examplecare\\', '{}', '', 0`;
    }
    await migrate(database.address);
    const { expected, stored } = await nameSuffixes(owner);
    expect(expected.length).toBeGreaterThan(1_000);
    expect(stored).toStrictEqual(expected);
  } finally {
    await owner.end({ timeout_ms: 5_000 });
  }
});
