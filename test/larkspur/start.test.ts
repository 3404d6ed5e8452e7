import { afterAll, expect, test } from 'vitest';
import { startLarkspur } from '../../larkspur/start.ts';
import { connect } from '../../sql/connect.ts';
import { seededLarkspur } from '../harness/larkspur.ts';
import { type FreshDatabase, freshDatabase } from '../harness/postgres.ts';
import { type Clinic, openClinic } from './fixture.ts';

const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

async function emptyDatabase() {
  return optionsFor(await freshDatabase('larkspur'));
}

/** With the practice, which takes more than a second to seed. */
async function seededDatabase() {
  return optionsFor(await seededLarkspur());
}

function optionsFor(database: FreshDatabase) {
  closing.push(database.drop);
  return { database: database.address, host: '127.0.0.1', port: 0 };
}

test('two concurrent starts on an empty database seed one practice, and a later one keeps its credentials', async () => {
  const options = await emptyDatabase();
  const both = await Promise.all([startLarkspur(options), startLarkspur(options)]);
  for (const larkspur of both) await larkspur.close();
  const [first, second] = both;
  expect(first.control_token).toBe(second.control_token);
  const later = await startLarkspur(options);
  closing.push(later.close);
  expect(later.control_token).toBe(first.control_token);
  expect(later.staff).toEqual(first.staff);
  expect(later.practice).toEqual({ practiceName: 'Larkspur Family Practice', timeZone: 'America/New_York' });
});

test('the action log is append-only', async () => {
  const options = await seededDatabase();
  const larkspur = await startLarkspur(options);
  closing.push(larkspur.close);
  const sql = connect(options.database, { max: 1 });
  closing.push(() => sql.end());
  await expect(sql`update actions set text = 'rewritten'`).rejects.toThrow('actions is append-only');
});

test('accepts the database as a URL', async () => {
  const { url, drop } = await seededLarkspur();
  const larkspur = await startLarkspur({ database: url, host: '127.0.0.1', port: 0 });
  expect((await fetch(`${larkspur.url}/api/practice`)).status).toBe(200);
  await larkspur.close();
  await drop();
});

test('fails with EADDRINUSE if the port is in use', async () => {
  const larkspur = await startLarkspur(await seededDatabase());
  closing.push(larkspur.close);
  await expect(startLarkspur({ ...(await seededDatabase()), port: larkspur.port })).rejects.toMatchObject({
    code: 'EADDRINUSE',
  });
});

test('every database gets the same seed but different credentials', async () => {
  // The first one is a copy of a database that was seeded at the same time of its clock.
  const clinics = [await openClinic(), await openClinic(await freshDatabase('larkspur'))];
  for (const clinic of clinics) closing.push(clinic.close);
  const [one, other] = await Promise.all(clinics.map(readLists));
  expect(one).toEqual(other);
  const passwords = clinics.flatMap((clinic) => clinic.larkspur.staff.map((person) => person.password));
  expect(new Set(passwords).size).toBe(22);
});

test('the example refers to existing records and a patient with an active medication', async () => {
  const clinic = await openClinic();
  closing.push(clinic.close);
  const { example } = clinic.larkspur;
  const { sessionToken } = await clinic.signIn();
  const get = async (path: string) => (await clinic.api('GET', path, undefined, sessionToken)).body;
  const [patient] = (await get(`/api/patients?mrn=${example.patient_mrn}`)).rows;
  const medications = (await get(`/api/patients/${patient?.patientId}/medications`)).rows;
  expect(medications.some((one) => one.activeFlag === 'Y')).toBe(true);
  expect(JSON.stringify(await get('/api/pharmacies'))).toContain(`"pharmacyId":"${example.pharmacy_ehr_id}"`);
  const encounter = {
    externalRef: 'example',
    providerId: example.provider_id,
    facilityId: example.location_id,
    assignedTo: example.assigned_to_id,
    pharmacyId: example.pharmacy_ehr_id,
    priority: 'N',
  };
  const path = `/api/patients/${patient?.patientId}/telephone-encounters`;
  expect((await clinic.api('POST', path, encounter, sessionToken)).status).toBe(201);
});

test('the seed has medications that share a word and one whose name is a word of another', async () => {
  const clinic = await openClinic();
  closing.push(clinic.close);
  const { sessionToken } = await clinic.signIn();
  const names = async (patientId: string) =>
    (await clinic.api('GET', `/api/patients/${patientId}/medications`, undefined, sessionToken)).body.rows.map(
      (one) => one.name,
    );
  expect(await names('10002')).toEqual(['Metformin 500 mg', 'Metformin ER 750 mg', 'Amlodipine 5 mg']);
  expect(await names('10003')).toEqual(['Aspirin', 'Aspirin EC 81 mg', 'Amoxicillin 500 mg']);
  expect(await names('10004')).toEqual([]);
});

async function readLists(clinic: Clinic): Promise<unknown[]> {
  const { sessionToken } = await clinic.signIn();
  const paths = ['providers', 'staff', 'facilities', 'pharmacies', 'patients', 'telephone-encounters/30001'];
  return Promise.all(
    paths.map(async (path) => (await clinic.api('GET', `/api/${path}`, undefined, sessionToken)).body),
  );
}

test('a database of a version before 0.1.0 is refused and left as it is', async () => {
  const options = await emptyDatabase();
  const sql = connect(options.database, { max: 1 });
  closing.push(() => sql.end());
  await sql`create table schema_migrations (name text primary key, applied_at timestamptz default now())`;
  await sql`insert into schema_migrations (name) values ('0001_baseline'), ('0002_plan_begins')`;
  await expect(startLarkspur(options)).rejects.toThrow('created by a version before 0.1.0, which cannot be upgraded');
  expect(await sql`select tablename from pg_tables where schemaname = 'public'`).toStrictEqual([
    { tablename: 'schema_migrations' },
  ]);
});
