import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { until } from '../../journeys/support.ts';
import { lastSync, linkVendor, readSpacing, syncNow, untilSynced } from './countedSyncs.ts';

/** So few that a sync takes more, and goes on in another hour. */
const per_hour = 60;
let fixture: TestSandbox;
let server: FhirServer;
beforeAll(async () => {
  const env = { SYNC_REQUESTS_PER_HOUR: String(per_hour) };
  fixture = await startSandbox({ small: true, sync_after_link: false, env });
  server = await startFhirServer({ data: 'small' });
});
afterAll(async () => {
  await server.close();
  await fixture.close();
});

type Note = { name: string; detail: { sent?: number; in_ms?: number; stored?: number } | null };

const readNotes = (job_id: number) => fixture.owner<Note[]>`
  SELECT name, detail FROM job_steps WHERE job_id = ${job_id} AND kind = 'note' ORDER BY n`;
const listsIn = (notes: readonly Note[]) =>
  notes.flatMap(({ name, detail }) => (detail?.stored === undefined ? [] : name));

test(row('SPL-10'), async () => {
  const { api } = await linkVendor(fixture, server, 'meditech');
  const sent = server.ledger.length;
  const { job_id } = (await api.call('POST', '/v1/sync')).body;
  const notes = await until('the sync to wait for its next hour', async () => {
    const [job] = await fixture.owner`SELECT state FROM jobs WHERE id = ${job_id}`;
    const read = await readNotes(job_id);
    return job?.state === 'queued' && read.at(-1)?.name === 'requests' && read;
  });
  const { detail } = notes.at(-1) ?? { detail: null };
  expect(detail?.sent).toBe(server.ledger.length - sent);
  expect(detail?.in_ms).toBeGreaterThan(50 * 60_000);
  expect(detail?.in_ms).toBeLessThanOrEqual(60 * 60_000);
  expect(listsIn(notes).length).toBeGreaterThan(0);

  const finished = await untilSynced(fixture, api, 0);
  expect(finished.job_id).toBe(job_id);
  expect(finished.emr_requests).toBe(server.ledger.length - sent);
  const lists = listsIn(await readNotes(job_id));
  expect(lists).toHaveLength(new Set(lists).size);
  const [job] = await fixture.owner`SELECT attempts, retries, error FROM jobs WHERE id = ${job_id}`;
  expect(job).toMatchObject({ retries: 0, error: null });
  expect(job?.attempts).toBeGreaterThan(1);

  const { findings } = (await api.call('GET', '/v1/account/connection-report')).body.data;
  expect(findings).toContainEqual(
    expect.stringMatching(
      /^Requests: the newest sync has sent [\d,]+ to the EMR, and all syncs of the last hour [\d,]+\.$/,
    ),
  );
  expect((await lastSync(api)).status).toBe('succeeded');
});

test('a sync that reads lists in full postpones the next one by at most an hour, however many requests it took', async () => {
  const { api, org_id } = await linkVendor(fixture, server, 'modmed');
  await fixture.owner`UPDATE organizations SET next_sync_at = now() WHERE org_id = ${org_id}`;
  const in_full = await syncNow(fixture, api);
  expect(in_full.emr_requests).toBeGreaterThan(per_hour);
  expect(await readSpacing(fixture, in_full)).toBeCloseTo(60, 1);
});
