import { expect, onTestFinished, test } from 'vitest';
import { connect, type Sql } from '../../src/platform/db/database.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { nameSuffixes } from '../harness/nameSuffixes.ts';
import { freshDatabase } from '../harness/postgres.ts';
import { createTenant } from '../harness/tenant.ts';

/** Patients of two tenants, in a table without triggers: as the records of a kind that a migration adds to. */
async function storedPatients(): Promise<Sql> {
  const database = await freshDatabase('stored');
  onTestFinished(database.drop);
  await migrate(database.address);
  const owner = connect(database.address, { max: 1 });
  onTestFinished(() => owner.end({ timeout_ms: 5_000 }));
  await owner.unsafe(`
    DROP TRIGGER patients_named ON patients; DROP TRIGGER patients_renamed ON patients;
    DROP TRIGGER patients_unnamed ON patients; DROP FUNCTION patients_named;
    DROP TRIGGER patients_change_added ON patients; DROP TRIGGER patients_change_moved ON patients;
    DROP TRIGGER patients_change_ended ON patients`);
  for (const { client_id, organization_id } of [await createTenant(owner), await createTenant(owner)]) {
    await owner`INSERT INTO patients (id, client_id, organization_id, ehr_id, status, first_folded, last_folded, doc,
        source_hash, seen_in)
      SELECT gen_random_uuid(), ${client_id}, ${organization_id}, n::text, 'active', substr('zoe 😀😀', 1, n),
             repeat('müller', n), '{}', '', 0 FROM generate_series(0, 40) AS n`;
  }
  return owner;
}

test('keep_name_suffixes adds the suffixes of all names that are stored', async () => {
  const owner = await storedPatients();
  expect((await nameSuffixes(owner)).stored).toStrictEqual([]);
  await owner`CALL keep_name_suffixes('patients', ARRAY['first_folded', 'last_folded'])`;
  const { expected, stored } = await nameSuffixes(owner);
  expect(expected.length).toBeGreaterThan(1_000);
  expect(stored).toStrictEqual(expected);
});

test('keep_changes adds all records that are stored to the feed', async () => {
  const owner = await storedPatients();
  expect(await owner`SELECT FROM record_changes`).toHaveLength(0);
  await owner`CALL keep_changes('patients')`;
  const listed = await owner`SELECT record_id AS id, client_id, organization_id, emr_id FROM record_changes
    WHERE kind = 'patients' AND NOT deleted ORDER BY 1`;
  expect(listed).toHaveLength(82);
  expect(listed).toStrictEqual(
    await owner`SELECT id, client_id, organization_id, ehr_id AS emr_id FROM patients ORDER BY 1`,
  );
  const [table] = await owner`SELECT relforcerowsecurity FROM pg_class WHERE oid = 'patients'::regclass`;
  expect(table).toStrictEqual({ relforcerowsecurity: true });
});
