import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../src/catalog/ids.ts';
import { fold } from '../../src/model/fold.ts';
import { insuranceProviders } from '../../src/model/records/insuranceProviders.ts';
import { type PatientSource, patients } from '../../src/model/records/patients.ts';
import type { RecordKind } from '../../src/model/records/recordKind.ts';
import { referringProviders } from '../../src/model/records/referringProviders.ts';
import { connect, type Database, openDatabase, type Sql } from '../../src/platform/db/database.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { roleAddresses } from '../../src/platform/db/roles.ts';
import { insertPending, lockPatient, savePatient } from '../../src/product/records/patients.ts';
import { readPage, type Scope } from '../../src/product/records/readRecords.ts';
import {
  deleteRecords,
  removeLeft,
  removeUnseen,
  storeOwnRecord,
  storePage,
} from '../../src/product/records/storeRecords.ts';
import { findPatients } from '../../src/surfaces/dashboard/records/queries.ts';
import { name_columns, nameSuffixes } from '../harness/nameSuffixes.ts';
import { freshDatabase, template } from '../harness/postgres.ts';
import { createTenant, type Tenant } from '../harness/tenant.ts';

let owner: Sql;
let db: Database;
let drop: () => Promise<void>;
beforeAll(async () => {
  const database = await freshDatabase('names', await template('webhooks', migrate));
  drop = database.drop;
  owner = connect(database.address, { max: 1 });
  db = openDatabase(roleAddresses(database.address), 4);
});
afterAll(async () => {
  await db.close();
  await owner.end();
  await drop();
});

const nothing = {
  ...{ middle_name: null, phone: null, cell_phone: null, email: null, dob: null, sex: 'unknown' as const },
  ...{ address_street: null, address_line2: null, address_city: null, address_state: null, address_zip: null },
  ...{ insurance_name: null, insurance_subscriber_number: null },
};

function patientSource(n: number, first_name: string, last_name: string): PatientSource {
  return { ehr_id: String(n), mrn: `MRN${n}`, first_name, last_name, ...nothing };
}

/** Stores a page of every kind with names, as a sync does. */
async function storeNames(scope: Scope, run: number, names: readonly (readonly [string, string])[]): Promise<void> {
  await db.tenant(scope.client_id, async (tx) => {
    const ehr = (n: number) => ({ ehr_id: String(n), status: 'active' as const });
    const page = names.map(([first, last], n) => patientSource(n, first, last));
    await storePage(tx, { ...scope, kind: patients, run }, page);
    const people = names.map(([first_name, last_name], n) => ({
      ...{ ...ehr(n), name: first_name, first_name, last_name, middle_initial: null, speciality: null },
      ...{ phone: null, fax: null, email: null, npi: null },
      ...{ address_street: null, address_city: null, address_state: null, address_zip: null },
    }));
    await storePage(tx, { ...scope, kind: referringProviders, run }, people);
    const companies = names.map(([name], n) => ({
      ...{ ...ehr(n), name, payer_id: null, carrier_id: null, active: true },
      ...{ address: null, city: null, state: null, created_at: null },
    }));
    await storePage(tx, { ...scope, kind: insuranceProviders, run }, companies);
  });
}

async function expectExact(): Promise<void> {
  const { expected, stored } = await nameSuffixes(owner);
  const different = stored.findIndex((line, n) => line !== expected[n]);
  // Not the whole lists, which are long.
  expect([stored.length, stored[different]]).toStrictEqual([expected.length, expected[different]]);
}

/** The ids that a search returns, and its total. */
async function searched(scope: Scope, kind: RecordKind, filters: Record<string, string>) {
  const { body } = await readPage(db, scope, kind, { filters, page_size: 1000 });
  const page = JSON.parse(body);
  return { ids: page[kind.name].map(({ id }: { id: string }) => id), total: page.pagination.total_count };
}

/** The same by comparing all names of the practice. */
async function compared({ organization_id }: Scope, kind: RecordKind, column: string, text: string) {
  const needle = fold(text);
  const pattern = needle === '' ? null : `%${needle.replace(/[\\%_]/g, '\\$&')}%`;
  const order = [...kind.order.map((each) => each.column), 'id'];
  const rows = await owner<{ id: string }[]>`SELECT id FROM ${owner(kind.name)}
    WHERE organization_id = ${organization_id} AND ${owner(column)} LIKE ${pattern} ORDER BY ${owner(order)}`;
  return { ids: rows.map(({ id }) => id), total: rows.length };
}

/** Numbers that look random and are the same in every run. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Few letters, so that names have much in common, and characters that a pattern, a collation or a cut could break. */
const characters = [
  ...['a', 'b', 'A', 'é', 'e\u0301', 'ß', 'ς', 'İ', 'ﬁ', 'ł', '1', ' ', '  ', '-', '–', "'", '’', '%', '_', '\\', '"'],
  ...['😀', '𝒜', '漢', '\u{10ffff}', '\ud7ff', '\ue000', '\uffff', '\u0301', '\u200d', ',', '.'],
];

describe('a search by part of a name', () => {
  const random = randomNumbers(20_261_117);
  const pick = <T>(values: readonly T[]): T => values[random(values.length)] as T;
  const text = (length: number) =>
    Array.from({ length }, () => pick(random(3) > 0 ? ['a', 'b', 'é', ' '] : characters)).join('');
  const length = () => pick([0, 1, 2, 3, 5, 7, 9, 12, 15, 33, random(80)]);
  const names = Array.from({ length: 300 }, () => [text(length()), text(length())] as const);
  let tenant: Tenant;
  beforeAll(async () => {
    await owner`TRUNCATE patients, referring_providers, insurance_providers, name_suffixes CASCADE`;
    tenant = await createTenant(owner);
    // Other practices and clients have the same names.
    const others = [await createTenant(owner, { client_id: tenant.client_id }), await createTenant(owner)];
    for (const scope of [tenant, ...others]) await storeNames(scope, 1, names);
  });

  const part = () => {
    const name = [...pick(pick(names))];
    const start = random(name.length);
    return name.slice(start, start + 1 + pick([1, 2, 3, 4, 6, 40, 80])).join('');
  };
  const needles = [
    ...[
      '',
      ' ',
      '-',
      "'",
      '\u0301',
      '%',
      '%%%',
      '___',
      '\\\\\\',
      'a%',
      'a_b',
      '\ud83d',
      'a\ud83db',
      '\udc00\udc00\udc00',
    ],
    ...['\u{10ffff}', '\u{10ffff}'.repeat(3), `a${'\u{10ffff}'.repeat(3)}`, '\ud7ff\ud7ff\ud7ff', 'ab\ud7ff', '😀😀😀'],
    ...Array.from({ length: 120 }, part),
    ...Array.from({ length: 80 }, () => text(1 + random(6))),
  ];

  test('has something to find and something not to find', async () => {
    const totals = await Promise.all(
      needles.map(async (needle) => (await compared(tenant, patients, 'last_folded', needle)).total),
    );
    expect(totals.filter((total) => total > 0).length).toBeGreaterThan(60);
    expect(totals.filter((total) => total === 0).length).toBeGreaterThan(30);
    expect(await owner`SELECT FROM patients WHERE length(last_folded) > 32`).not.toHaveLength(0);
  });

  test.each(name_columns.map(({ kind, filter, column }) => [kind.name, filter, kind, column] as const))(
    'finds the %s that a comparison of every %s finds, in the same order',
    async (_name, filter, kind, column) => {
      for (const needle of needles) {
        const matches = await searched(tenant, kind, { [filter]: needle });
        expect.soft(matches, JSON.stringify(needle)).toStrictEqual(await compared(tenant, kind, column, needle));
      }
    },
  );

  test('finds those that contain both names', async () => {
    for (const needle of needles.slice(0, 100)) {
      const [first, last] = [part(), needle];
      const { ids } = await searched(tenant, patients, { first_name: first, last_name: last });
      const by_first = await compared(tenant, patients, 'first_folded', first);
      const by_last = await compared(tenant, patients, 'last_folded', last);
      expect
        .soft(ids, JSON.stringify([first, last]))
        .toStrictEqual(by_last.ids.filter((id) => by_first.ids.includes(id)));
    }
  });

  test('a search of all practices finds the client’s patients whose names contain all words', async () => {
    for (const needle of needles) {
      const words = fold(needle)
        .split(/[\s,]+/)
        .filter((word) => word !== '');
      if (words.length === 0 || /^[\d\s()+.-]+$/.test(needle)) continue;
      const matches = await findPatients(db, tenant.client_id, needle, { patients_max: 10_000 });
      const rows = await owner<{ id: string }[]>`SELECT id FROM patients WHERE client_id = ${tenant.client_id}
        AND (SELECT bool_and(strpos(last_folded, word) > 0 OR strpos(first_folded, word) > 0) FROM unnest(${words}::text[]) AS word)
        ORDER BY last_folded, first_folded, id`;
      expect
        .soft(
          matches.map(({ id }) => id),
          JSON.stringify(needle),
        )
        .toStrictEqual(rows.map(({ id }) => id));
    }
    const mrn = await findPatients(db, tenant.client_id, 'MRN7', { patients_max: 10 });
    expect(mrn.map((each) => each.mrn)).toStrictEqual(['MRN7', 'MRN7']);
  });

  test('finds nothing of another client, even with its practice', async () => {
    const [other] = await owner<{ id: string }[]>`SELECT id FROM clients WHERE id <> ${tenant.client_id}
      AND EXISTS (SELECT FROM patients WHERE client_id = clients.id)`;
    const scope = { client_id: other?.id ?? '', organization_id: tenant.organization_id };
    for (const { kind, filter } of name_columns) {
      expect(await searched(scope, kind, { [filter]: 'aaa' })).toStrictEqual({ ids: [], total: 0 });
    }
    const seen = await db.tenant(
      scope.client_id,
      (tx) => tx<{ n: number }[]>`SELECT count(*) AS n FROM name_suffixes
      WHERE client_id <> ${scope.client_id}`,
    );
    expect(seen).toStrictEqual([{ n: 0 }]);
  });

  test('finds more patients than it looks up one by one, page by page', async () => {
    const practice = await createTenant(owner, { client_id: tenant.client_id });
    await owner`INSERT INTO patients (id, client_id, organization_id, ehr_id, status, first_folded, last_folded, doc,
        source_hash, seen_in)
      SELECT id, ${practice.client_id}, ${practice.organization_id}, n::text, 'active', 'ida',
             substr(md5(n::text), 1, 4) || CASE WHEN n % 4 = 0 THEN 'other' ELSE 'common' END,
             json_build_object('id', replace(id::text, '-', '')), '', 0
        FROM (SELECT n, gen_random_uuid() AS id FROM generate_series(1, 2800) AS n) AS added`;
    const { ids, total } = await compared(practice, patients, 'last_folded', 'ommo');
    expect(total).toBe(2100);
    for (const page of [1, 2, 3, 4]) {
      const { body } = await readPage(db, practice, patients, { filters: { last_name: 'ommo' }, page, page_size: 700 });
      const { patients: listed, pagination } = JSON.parse(body);
      expect(pagination).toMatchObject({ total_count: 2100, total_pages: 3 });
      expect(listed.map(({ id }: { id: string }) => id)).toStrictEqual(ids.slice((page - 1) * 700, page * 700));
    }
  });

  test('relies on exactly the suffixes of the stored names', expectExact);
});

describe('the suffixes of names', () => {
  let tenant: Tenant;
  let scope: Scope;
  const names = [
    ['Ida', 'Abcdef'],
    ['Zoë', 'Müller-Ångström'],
    ['Jo', 'Li'],
  ] as const;
  beforeEach(async () => {
    await owner`TRUNCATE patients, referring_providers, insurance_providers, name_suffixes CASCADE`;
    tenant = await createTenant(owner);
    scope = { client_id: tenant.client_id, organization_id: tenant.organization_id };
    await storeNames(scope, 1, names);
  });

  const versions = () =>
    owner<{ id: string; at: string; xid: string }[]>`SELECT record_id AS id, ctid::text AS at, xmin::text AS xid
      FROM name_suffixes ORDER BY ctid`;
  const readId = async (ehr_id: string) => {
    const [row] = await owner<{ id: string }[]>`SELECT id FROM patients WHERE ehr_id = ${ehr_id}`;
    return row?.id ?? '';
  };

  test('are stored with the rows', async () => {
    expect((await versions()).length).toBeGreaterThan(20);
    await expectExact();
  });

  test('are not written again by a sync that changes no name', async () => {
    const before = await versions();
    await storeNames(scope, 2, names);
    expect(await versions()).toStrictEqual(before);
    // Another phone number changes the row.
    const page = names.map(([first, last], n) => ({ ...patientSource(n, first, last), phone: '415-555-0100' }));
    await db.tenant(scope.client_id, (tx) => storePage(tx, { ...scope, kind: patients, run: 3 }, page));
    expect(await versions()).toStrictEqual(before);
  });

  test('the suffixes of one patient are replaced by a sync that changes a name', async () => {
    const renamed = await readId('1');
    const before = (await versions()).filter(({ id }) => id !== renamed);
    await storeNames(scope, 2, [names[0], ['Zoë', 'Married'], names[2]]);
    await expectExact();
    const provider = await owner<{ id: string }[]>`SELECT id FROM referring_providers WHERE ehr_id = '1'`;
    const after = (await versions()).filter(({ id }) => id !== renamed);
    const others = (rows: typeof before) => rows.filter(({ id }) => id !== provider[0]?.id);
    expect(others(after)).toStrictEqual(others(before));
    expect((await searched(scope, patients, { last_name: 'arri' })).ids).toStrictEqual([renamed]);
    expect((await searched(scope, patients, { last_name: 'ngstr' })).ids).toStrictEqual([]);
  });

  test('follow a patient whom a client creates and changes', async () => {
    const id = newId();
    const demographics = { first_name: 'Pending', last_name: 'Patient', ...nothing };
    await db.tenant(scope.client_id, (tx) => insertPending(tx, scope, id, demographics));
    expect((await searched(scope, patients, { last_name: 'tien' })).ids).toStrictEqual([id]);
    await db.tenant(scope.client_id, async (tx) => {
      const row = await lockPatient(tx, scope.organization_id, id);
      if (!row) throw new Error('The patient was not stored.');
      await savePatient(tx, scope, row, { last_name: 'Renamed', ehr_id: '77', status: 'active' });
    });
    expect((await searched(scope, patients, { last_name: 'tien' })).ids).toStrictEqual([]);
    expect((await searched(scope, patients, { last_name: 'enam' })).ids).toStrictEqual([id]);
    await expectExact();
  });

  test('end with the row, whatever deletes it', async () => {
    const remove = (work: Parameters<Database['tenant']>[1]) => db.tenant(scope.client_id, work);
    await remove((tx) => removeLeft(tx, { ...scope, kind: patients }, ['0']));
    await expectExact();
    const own = patientSource(1, 'Own', 'Record');
    await remove((tx) => storeOwnRecord(tx, { ...scope, kind: patients }, newId(), own));
    await expectExact();
    await remove((tx) => removeUnseen(tx, { ...scope, kind: patients, run: 5 }));
    await expectExact();
    await remove((tx) => deleteRecords(tx, referringProviders, scope.organization_id));
    await expectExact();
    await owner`DELETE FROM accounts WHERE organization_id = ${scope.organization_id}`;
    await owner`DELETE FROM organizations WHERE id = ${scope.organization_id}`;
    expect(await versions()).toStrictEqual([]);
  });

  test('are those of the last of two renames at the same time', async () => {
    const id = await readId('0');
    const rename = (last_name: string, meanwhile?: () => Promise<void>) =>
      db.tenant(scope.client_id, async (tx) => {
        await tx`UPDATE patients SET last_folded = ${last_name} WHERE id = ${id}`;
        await meanwhile?.();
      });
    let second: Promise<void> | undefined;
    await rename('firstname', async () => {
      second = rename('secondname');
      await expect
        .poll(() => owner`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`)
        .toHaveLength(1);
    });
    await second;
    await expectExact();
    expect((await searched(scope, patients, { last_name: 'condnam' })).ids).toStrictEqual([id]);
  });

  test('are not stored by a transaction that is rolled back', async () => {
    const before = await versions();
    const attempt = db.tenant(scope.client_id, async (tx) => {
      await tx`UPDATE patients SET last_folded = 'undone' WHERE organization_id = ${scope.organization_id}`;
      throw new Error('undone');
    });
    await expect(attempt).rejects.toThrow('undone');
    expect(await versions()).toStrictEqual(before);
  });
});

test('a name that is cut within a character is stored', async () => {
  const tenant = await createTenant(owner);
  const last_name = `${'x'.repeat(299)}😀y`;
  await db.tenant(tenant.client_id, (tx) =>
    storePage(tx, { ...tenant, kind: patients, run: 1 }, [patientSource(1, 'Long', last_name)]),
  );
  expect((await searched(tenant, patients, { last_name: 'xxx' })).total).toBe(1);
});
