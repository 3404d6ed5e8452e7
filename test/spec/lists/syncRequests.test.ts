import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { requestDueSyncs } from '../../../src/product/records/syncPasses.ts';
import { describeOrganizations } from '../../../src/surfaces/dashboard/accounts/queries.ts';
import type { Api } from '../../harness/api.ts';
import { linkFhir } from '../../harness/fhir/linkFhir.ts';
import { type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import type { VendorName } from '../../harness/fhir/vendors/vendors.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { until } from '../../journeys/support.ts';

/** More than a sync takes, but so few that it postpones the next one. */
const per_hour = 300;
/** So few that a sync takes more, and goes on in another hour. */
const few_per_hour = 60;
const limitTo = (requests: number) => Object.assign(fixture.ctx.config, { sync_requests_per_hour: requests });
let fixture: TestSandbox;
let server: FhirServer;
beforeAll(async () => {
  fixture = await startSandbox({
    small: true,
    sync_after_link: false,
    env: { SYNC_REQUESTS_PER_HOUR: String(per_hour) },
  });
  server = await startFhirServer({ data: 'small' });
});
afterAll(async () => {
  await server.close();
  await fixture.close();
});

afterEach(() => limitTo(per_hour));

type Sync = { job_id: number; status: string; emr_requests: number };

const lastSync = async (api: Api): Promise<Sync> => (await api.call('GET', '/v1/accounts')).body.accounts[0].last_sync;

/** Lets the hour of a sync that waits for the next one end. */
async function endHour(): Promise<void> {
  await fixture.owner`UPDATE jobs SET emr_hour_started_at = emr_hour_started_at - interval '1 hour'
    WHERE type = 'sync' AND state = 'queued'`;
  await fixture.owner`UPDATE lanes SET ready_at = now() WHERE ready_at > now() + interval '1 minute'`;
}

/** The next sync that finishes after this one. */
function untilSynced(api: Api, after: number): Promise<Sync> {
  return until(
    'the sync',
    async () => {
      await endHour();
      const sync = await lastSync(api);
      return sync.job_id > after && sync.status === 'succeeded' && sync;
    },
    150_000,
  );
}

/** Requests a sync and waits for it. */
async function syncNow(api: Api): Promise<Sync> {
  const before = (await lastSync(api))?.job_id ?? 0;
  expect((await api.call('POST', '/v1/sync')).status).toBe(200);
  return untilSynced(api, before);
}

/** A scheduled sync, which reads changes and near days only. */
async function syncOnSchedule(api: Api, org_id: string): Promise<Sync> {
  const { job_id } = await lastSync(api);
  await fixture.owner`UPDATE organizations SET next_sync_at = now() - interval '1 second' WHERE org_id = ${org_id}`;
  await requestDueSyncs(fixture.ctx);
  return untilSynced(api, job_id);
}

/** The figures of docs/guides/fhir.md, for a practice of the test server. */
const scheduled_max = 130;
const requested_max = 200;

async function link(vendor: VendorName) {
  server.reset();
  server.faults.vendor = vendor;
  const org_id = `requests-${vendor}`;
  const api = await linkFhir(fixture, server, { user_id: org_id, org_id });
  await fixture.owner`UPDATE organizations SET next_sync_at = now() + interval '1 day' WHERE org_id = ${org_id}`;
  await syncNow(api);
  return { api, org_id };
}

type Timeline = { name: string; detail: { sent?: number; in_ms?: number; stored?: number } | null }[];

const readNotes = (job_id: number) => fixture.owner<Timeline>`
  SELECT name, detail FROM job_steps WHERE job_id = ${job_id} AND kind = 'note' ORDER BY n`;

test.each(['oracle', 'nextgen_enterprise'] as const)(
  '%s: syncs stay within the documented requests',
  async (vendor) => {
    const { api, org_id } = await link(vendor);
    expect((await syncOnSchedule(api, org_id)).emr_requests).toBeLessThanOrEqual(scheduled_max);
  },
);

test(row('SPL-08'), async () => {
  const { api, org_id } = await link('modmed');
  const sent = server.ledger.length;
  const requested = await syncNow(api);
  expect(requested.emr_requests).toBe(server.ledger.length - sent);
  expect(requested.emr_requests).toBeLessThanOrEqual(requested_max);
  const before = server.ledger.length;
  const scheduled = await syncOnSchedule(api, org_id);
  expect(scheduled.emr_requests).toBe(server.ledger.length - before);
  expect(scheduled.emr_requests).toBeLessThanOrEqual(scheduled_max);

  const readSpacing = async ({ job_id }: Sync) => {
    const [spacing] = await fixture.owner<{ minutes: number }[]>`
      SELECT extract(epoch FROM next_sync_at - started_at)::float8 / 60 AS minutes
        FROM organizations JOIN jobs ON jobs.organization_id = organizations.id WHERE jobs.id = ${job_id}`;
    return spacing?.minutes;
  };
  const minutes = (scheduled.emr_requests * 60) / per_hour;
  // Otherwise they are 15 minutes apart.
  expect(minutes).toBeGreaterThan(15);
  expect(await readSpacing(scheduled)).toBeCloseTo(minutes, 1);
  limitTo(few_per_hour);
  await fixture.owner`UPDATE organizations SET next_sync_at = now() WHERE org_id = ${org_id}`;
  const in_full = await syncNow(api);
  expect(in_full.emr_requests).toBeGreaterThan(few_per_hour);
  expect(await readSpacing(in_full)).toBeCloseTo(60, 1);

  const [{ client_id, total } = { client_id: '', total: 0 }] = await fixture.owner<
    { client_id: string; total: number }[]
  >`
    SELECT organizations.client_id, sum(emr_requests)::int AS total FROM jobs JOIN organizations ON organizations.id = jobs.organization_id
     WHERE organizations.org_id = ${org_id} GROUP BY 1`;
  const organizations = await describeOrganizations(fixture.ctx, client_id);
  expect(organizations.find((each) => each.org_id === org_id)).toMatchObject({
    sync: { emr_requests: in_full.emr_requests },
    earlier_syncs: expect.arrayContaining([expect.objectContaining({ emr_requests: scheduled.emr_requests })]),
    emr_requests_last_hour: total,
    emr_requests_per_hour_max: few_per_hour,
  });
  const { values } = await fixture.ctx.metrics.emr_requests.get();
  expect(values.find(({ labels }) => labels.emr === 'fhir')?.value).toBeGreaterThanOrEqual(total);
});

test(row('SPL-10'), async () => {
  const { api } = await link('meditech');
  const { job_id: before } = await lastSync(api);
  const sent = server.ledger.length;
  limitTo(few_per_hour);
  expect((await api.call('POST', '/v1/sync')).status).toBe(200);
  const paused = await until('the sync to wait for its next hour', async () => {
    const sync = await lastSync(api);
    const notes = sync.job_id > before ? await readNotes(sync.job_id) : [];
    return sync.status !== 'running' && notes.at(-1)?.name === 'requests' && { ...sync, notes };
  });
  expect(paused.status).not.toBe('succeeded');
  const { detail } = paused.notes.at(-1) ?? { detail: null };
  expect(detail?.sent).toBe(server.ledger.length - sent);
  expect(detail?.in_ms).toBeGreaterThan(50 * 60_000);
  expect(detail?.in_ms).toBeLessThanOrEqual(60 * 60_000);
  const read = paused.notes.filter((note) => note.detail?.stored !== undefined).map(({ name }) => name);
  expect(read.length).toBeGreaterThan(0);

  await endHour();
  const finished = await untilSynced(api, before);
  expect(finished.job_id).toBe(paused.job_id);
  expect(finished.emr_requests).toBe(server.ledger.length - sent);
  const lists = (await readNotes(finished.job_id)).filter((note) => note.detail?.stored !== undefined);
  // No list was read twice.
  expect(lists.map(({ name }) => name)).toHaveLength(new Set(lists.map(({ name }) => name)).size);
  const [job] = await fixture.owner`SELECT attempts, retries, error FROM jobs WHERE id = ${finished.job_id}`;
  expect(job).toMatchObject({ retries: 0, error: null });
  expect(job?.attempts).toBeGreaterThan(1);

  const { findings } = (await api.call('GET', '/v1/account/connection-report')).body.data;
  expect(findings).toContainEqual(
    expect.stringMatching(
      /^Requests: the newest sync has sent [\d,]+ to the EMR, and all syncs of the last hour [\d,]+\.$/,
    ),
  );
});
