import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Api } from '../../harness/api.ts';
import { bulk_behavior } from '../../harness/fhir/bulkSwitches.ts';
import { linkFhir } from '../../harness/fhir/linkFhir.ts';
import { type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import type { TestProcess } from '../../harness/sandbox.ts';
import { type Gate, withGate } from '../gate.ts';
import { type Installation, install } from '../installation.ts';
import { stopScheduledSyncs, untilFinished } from '../support.ts';

let fixture: Installation;
let server: FhirServer;
let api: Api;
const org_id = 'killed-export';
beforeAll(async () => {
  fixture = await install();
  server = await startFhirServer({ data: 'small' });
  Object.assign(server.faults, {
    narrow: ['Patient', 'Coverage'],
    withheld_params: { Patient: ['_id', 'birthdate', 'active', 'name'], Coverage: ['status'] },
    withheld: { Appointment: 'all', Claim: 'all', ServiceRequest: 'all', Slot: 'all' },
    bulk: { ...bulk_behavior, polls: 1, lines_per_file: 5 },
  });
  api = await linkFhir(fixture, server, { user_id: 'killed', org_id });
  await stopScheduledSyncs(fixture.owner, org_id);
});
afterAll(async () => {
  await fixture.close();
  await server.close();
});

const becomes = (state: string) => `NEW.state = '${state}' AND OLD.state <> '${state}'`;

/** What an export stores, in this order. */
const steps: readonly (Gate & { name: string })[] = [
  { name: 'the intent', statement: 'INSERT ON bulk_exports' },
  { name: 'the manifest', statement: 'UPDATE ON bulk_exports', when: becomes('downloading') },
  { name: 'a part of a file', statement: 'INSERT ON bulk_export_chunks', when: 'NEW.file = 1' },
  { name: 'the end of a file', statement: 'UPDATE ON bulk_exports', when: 'NEW.files_done = 2 AND OLD.files_done = 1' },
  { name: 'that all files are there', statement: 'UPDATE ON bulk_exports', when: becomes('reading') },
  { name: 'a page', statement: 'UPDATE ON sync_passes', when: `NEW.kind = 'patients' AND NEW.position IS NOT NULL` },
  { name: 'the end of a list', statement: 'UPDATE ON sync_passes', when: `NEW.kind = 'patients' AND NEW.done` },
  { name: 'the end', statement: 'UPDATE ON bulk_exports', when: becomes('done') },
  {
    name: 'that the EMR has ended it',
    statement: 'UPDATE ON bulk_exports',
    when: `NEW.state = 'done' AND NEW.status_url_sealed IS NULL AND OLD.status_url_sealed IS NOT NULL`,
  },
];

/** Runs a worker until it stores the step, and kills it there. The statement is cancelled. */
async function killAt(step: Gate): Promise<void> {
  await withGate(fixture.owner, step, async ({ tx, untilWaiting }) => {
    const worker: TestProcess = await fixture.startWorker();
    const waiting = await untilWaiting();
    await worker.stop('SIGKILL');
    for (const { pid } of waiting) await tx`SELECT pg_terminate_backend(${pid}::integer)`;
  });
}

async function requestSync(): Promise<number> {
  const { body } = await api.call('POST', '/v1/sync', { body: {} });
  return body.job_id;
}

async function expectSame(): Promise<void> {
  for (const [type, kind] of [
    ['Patient', 'patients'],
    ['Coverage', 'patient_insurances'],
  ] as const) {
    const rows = await fixture.owner<{ ehr_id: string }[]>`SELECT ehr_id FROM ${fixture.owner(kind)}
      WHERE organization_id = (SELECT id FROM organizations WHERE org_id = ${org_id}) ORDER BY ehr_id`;
    const ids = (await server.resources(type as 'Patient')).map(({ id }) => id).sort();
    expect(rows.map(({ ehr_id }) => ehr_id)).toStrictEqual(ids);
  }
}

test('an export whose worker is killed at every step that it stores is requested once and read completely', async () => {
  const job_id = await requestSync();
  for (const step of steps) await killAt(step);
  const worker = await fixture.startWorker();
  await untilFinished(fixture.owner, [job_id]);
  expect(server.bulk.exports).toMatchObject([{ since: null, running: false }]);
  await expectSame();
  const [left] = await fixture.owner`SELECT state, status_url_sealed,
    (SELECT count(*)::int FROM bulk_export_chunks) AS chunks FROM bulk_exports`;
  expect(left).toStrictEqual({ state: 'done', status_url_sealed: null, chunks: 0 });
  await worker.stop();
});

test('an export whose worker is killed before its URL is stored is not requested again while it may run', async () => {
  const [coverage] = await server.resources('Coverage');
  await server.remove('Coverage', coverage?.id ?? '');
  const lost = await requestSync();
  await killAt({ statement: 'UPDATE ON bulk_exports', when: becomes('running') });
  const worker = await fixture.startWorker();
  await untilFinished(fixture.owner, [lost]);
  expect(server.bulk.exports).toHaveLength(2);
  expect(
    await fixture.owner`SELECT FROM bulk_exports WHERE state = 'kicking_off'
    AND next_at > now() + interval '3 hours'`,
  ).toHaveLength(1);
  // The server has ended it since.
  server.bulk.forget();
  await fixture.owner`UPDATE bulk_exports SET next_at = now()`;
  await untilFinished(fixture.owner, [await requestSync()]);
  expect(server.bulk.exports).toHaveLength(3);
  expect(server.bulk.running_most).toBe(1);
  await expectSame();
  await worker.stop();
});
