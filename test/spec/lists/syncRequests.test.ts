import { afterAll, beforeAll, expect, test } from 'vitest';
import { requestDueSyncs } from '../../../src/product/records/syncPasses.ts';
import { describeOrganizations } from '../../../src/surfaces/dashboard/accounts/queries.ts';
import type { Api } from '../../harness/api.ts';
import { linkFhir } from '../../harness/fhir/linkFhir.ts';
import { type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import type { VendorName } from '../../harness/fhir/vendors/vendors.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { until } from '../../journeys/support.ts';

/** So few that each sync takes more. */
const per_hour = 60;
let fixture: TestSandbox;
let server: FhirServer;
beforeAll(async () => {
  fixture = await startSandbox({ small: true, env: { SYNC_REQUESTS_PER_HOUR: String(per_hour) } });
  server = await startFhirServer({ data: 'small' });
});
afterAll(async () => {
  await server.close();
  await fixture.close();
});

type Sync = { job_id: number; status: string; emr_requests: number };

const lastSync = async (api: Api): Promise<Sync> => (await api.call('GET', '/v1/accounts')).body.accounts[0].last_sync;

/** The next sync that finishes after this one. */
function untilSynced(api: Api, after: number): Promise<Sync> {
  return until(
    'the sync',
    async () => {
      const sync = await lastSync(api);
      return sync.job_id > after && sync.status === 'succeeded' && sync;
    },
    150_000,
  );
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
  const { job_id } = await untilSynced(api, 0);
  return { api, org_id, first: job_id };
}

test.each(['oracle', 'nextgen_enterprise'] as const)(
  '%s: syncs stay within the documented requests',
  async (vendor) => {
    const { api, org_id } = await link(vendor);
    expect((await syncOnSchedule(api, org_id)).emr_requests).toBeLessThanOrEqual(scheduled_max);
  },
);

test(row('SPL-08'), async () => {
  const { api, org_id, first } = await link('modmed');
  const sent = server.ledger.length;
  await api.sync();
  const requested = await untilSynced(api, first);
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
  expect(minutes).toBeGreaterThan(60);
  expect(await readSpacing(scheduled)).toBeCloseTo(minutes, 1);
  await fixture.owner`UPDATE organizations SET next_sync_at = now() WHERE org_id = ${org_id}`;
  await api.sync();
  const in_full = await untilSynced(api, scheduled.job_id);
  expect(in_full.emr_requests).toBeGreaterThan(per_hour);
  expect(await readSpacing(in_full)).toBeCloseTo(60, 1);

  const [{ client_id, total } = { client_id: '', total: 0 }] = await fixture.owner<
    { client_id: string; total: number }[]
  >`
    SELECT organizations.client_id, sum(emr_requests)::int AS total FROM jobs JOIN organizations ON organizations.id = jobs.organization_id
     WHERE organizations.org_id = ${org_id} GROUP BY 1`;
  const organizations = await describeOrganizations(fixture.ctx, client_id);
  expect(organizations.find((each) => each.org_id === org_id)).toMatchObject({
    sync: { emr_requests: in_full.emr_requests },
    emr_requests_last_hour: total,
    emr_requests_per_hour_max: per_hour,
  });
  const { values } = await fixture.ctx.metrics.emr_requests.get();
  expect(values.find(({ labels }) => labels.emr === 'fhir')?.value).toBeGreaterThanOrEqual(total);
});
