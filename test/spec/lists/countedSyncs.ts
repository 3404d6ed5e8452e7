import { expect } from 'vitest';
import { requestDueSyncs } from '../../../src/product/records/syncPasses.ts';
import type { Api } from '../../harness/api.ts';
import { linkFhir } from '../../harness/fhir/linkFhir.ts';
import type { FhirServer } from '../../harness/fhir/startFhirServer.ts';
import type { VendorName } from '../../harness/fhir/vendors/vendors.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { until } from '../../journeys/support.ts';

export type Sync = { job_id: number; status: string; emr_requests: number };

export async function lastSync(api: Api): Promise<Sync> {
  return (await api.call('GET', '/v1/accounts')).body.accounts[0].last_sync;
}

/** Lets the hour of a sync that waits for the next one end. */
async function endHour({ owner }: TestSandbox): Promise<void> {
  await owner`UPDATE jobs SET emr_hour_started_at = emr_hour_started_at - interval '1 hour'
    WHERE type = 'sync' AND state = 'queued'`;
  await owner`UPDATE lanes SET ready_at = now() WHERE ready_at > now() + interval '1 minute'`;
}

/** The next sync that finishes after this one. */
export function untilSynced(fixture: TestSandbox, api: Api, after: number): Promise<Sync> {
  return until(
    'the sync',
    async () => {
      await endHour(fixture);
      const sync = await lastSync(api);
      return sync?.job_id > after && sync.status === 'succeeded' && sync;
    },
    150_000,
  );
}

/** Requests a sync and waits for it. */
export async function syncNow(fixture: TestSandbox, api: Api): Promise<Sync> {
  const before = (await lastSync(api))?.job_id ?? 0;
  expect((await api.call('POST', '/v1/sync')).status).toBe(200);
  return untilSynced(fixture, api, before);
}

/** A scheduled sync, which reads changes and near days only. */
export async function syncOnSchedule(fixture: TestSandbox, api: Api, org_id: string): Promise<Sync> {
  const { job_id } = await lastSync(api);
  await fixture.owner`UPDATE organizations SET next_sync_at = now() - interval '1 second' WHERE org_id = ${org_id}`;
  await requestDueSyncs(fixture.ctx);
  return untilSynced(fixture, api, job_id);
}

/** An account at a vendor's server that is synced on request only. */
export async function linkVendor(fixture: TestSandbox, server: FhirServer, vendor: VendorName) {
  server.reset();
  server.faults.vendor = vendor;
  const org_id = `requests-${vendor}`;
  const api = await linkFhir(fixture, server, { user_id: org_id, org_id });
  await fixture.owner`UPDATE organizations SET next_sync_at = now() + interval '1 day' WHERE org_id = ${org_id}`;
  return { api, org_id };
}

/** How many minutes after the start of a sync the next one starts. */
export async function readSpacing({ owner }: TestSandbox, { job_id }: Sync): Promise<number | undefined> {
  const [spacing] = await owner<{ minutes: number }[]>`
    SELECT extract(epoch FROM next_sync_at - started_at)::float8 / 60 AS minutes
      FROM organizations JOIN jobs ON jobs.organization_id = organizations.id WHERE jobs.id = ${job_id}`;
  return spacing?.minutes;
}
