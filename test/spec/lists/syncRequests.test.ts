import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeOrganizations } from '../../../src/surfaces/dashboard/accounts/queries.ts';
import { type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import { row } from '../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';
import { linkVendor, readSpacing, syncNow, syncOnSchedule } from './countedSyncs.ts';

/** More than a sync takes, but so few that it postpones the next one. */
const per_hour = 240;
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

/** The figures of docs/guides/fhir-reading.md, for a practice of the test server. */
const scheduled_max = 130;
const requested_max = 200;

test.each(['oracle', 'nextgen_enterprise'] as const)(
  '%s: syncs stay within the documented requests',
  async (vendor) => {
    const { api, org_id } = await linkVendor(fixture, server, vendor);
    await syncNow(fixture, api);
    expect((await syncOnSchedule(fixture, api, org_id)).emr_requests).toBeLessThanOrEqual(scheduled_max);
  },
);

test(row('SPL-08'), async () => {
  const { api, org_id } = await linkVendor(fixture, server, 'modmed');
  await syncNow(fixture, api);
  const sent = server.ledger.length;
  const requested = await syncNow(fixture, api);
  expect(requested.emr_requests).toBe(server.ledger.length - sent);
  expect(requested.emr_requests).toBeLessThanOrEqual(requested_max);
  const before = server.ledger.length;
  const scheduled = await syncOnSchedule(fixture, api, org_id);
  expect(scheduled.emr_requests).toBe(server.ledger.length - before);
  expect(scheduled.emr_requests).toBeLessThanOrEqual(scheduled_max);
  const minutes = (scheduled.emr_requests * 60) / per_hour;
  // Otherwise they are 15 minutes apart.
  expect(minutes).toBeGreaterThan(15);
  expect(await readSpacing(fixture, scheduled)).toBeCloseTo(minutes, 1);

  const [{ client_id, total } = { client_id: '', total: 0 }] = await fixture.owner<
    { client_id: string; total: number }[]
  >`
    SELECT organizations.client_id, sum(emr_requests)::int AS total FROM jobs JOIN organizations ON organizations.id = jobs.organization_id
     WHERE organizations.org_id = ${org_id} GROUP BY 1`;
  const organizations = await describeOrganizations(fixture.ctx, client_id);
  expect(organizations.find((each) => each.org_id === org_id)).toMatchObject({
    sync: { emr_requests: scheduled.emr_requests },
    // The last one is that of the link, which sends none here.
    earlier_syncs: [
      { emr_requests: requested.emr_requests },
      { emr_requests: expect.any(Number) },
      { emr_requests: 0 },
    ],
    emr_requests_last_hour: total,
    emr_requests_per_hour_max: per_hour,
  });
  const { values } = await fixture.ctx.metrics.emr_requests.get();
  expect(values.find(({ labels }) => labels.emr === 'fhir')?.value).toBeGreaterThanOrEqual(total);
});
