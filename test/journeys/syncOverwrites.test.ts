import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Connector } from '../../src/emr/connector.ts';
import type { ListPage } from '../../src/emr/operations/operation.ts';
import { type Deferred, deferred } from '../harness/deferred.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { patient, until } from './support.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

type PausedSync = { read: Deferred<void>; store: Deferred<void> };
/** While set, a sync waits between reading a page of patients from the EMR and storing it. */
let paused_sync: PausedSync | undefined;

beforeAll(() => {
  const larkspur = fixture.ctx.connectors.get('larkspur');
  if (!larkspur) throw new Error('Expected a connector.');
  const open: Connector['open'] = (endpoint, access) => {
    const operations = larkspur.open(endpoint, access);
    const { listPatients } = operations;
    if (!listPatients) return operations;
    async function* holdPages(pages: AsyncIterable<ListPage<never>>) {
      for await (const page of pages) {
        paused_sync?.read.resolve();
        await paused_sync?.store.promise;
        yield page;
      }
    }
    const wrapped = (...args: Parameters<typeof listPatients>) =>
      holdPages(listPatients(...args) as AsyncIterable<ListPage<never>>);
    return { ...operations, listPatients: Object.assign(wrapped, listPatients) };
  };
  Object.assign(fixture.ctx, { connectors: new Map(fixture.ctx.connectors).set('larkspur', { ...larkspur, open }) });
});

const shown = async (n: number) => {
  const { body } = await fixture.api.call('GET', `/v1/patients?mrn=${patient(n).mrn}`);
  return body.patients[0];
};

async function syncStarted(): Promise<number> {
  const { body } = await fixture.api.call('POST', '/v1/sync');
  return body.job_id;
}

describe('a sync that read a page before our own write of a record', () => {
  test('does not undo the write, removes nothing, and the next sync reads the record again', async () => {
    const { id } = await shown(5);
    await fixture.api.control('PATCH', `/control/patients/${patient(5).ehr_id}`, { lastName: 'Renamed' });
    const page: PausedSync = { read: deferred(), store: deferred() };
    paused_sync = page;
    const sync_job = await syncStarted();
    await page.read.promise;
    const accepted = await fixture.api.call('PATCH', `/v1/patients/${id}`, { body: { phone: '518-555-0177' } });
    expect((await fixture.api.untilEvent(accepted.body.job_id)).event_type).toBe('patient.updated');
    expect(await shown(5)).toMatchObject({ phone: '518-555-0177', status: 'active' });
    paused_sync = undefined;
    page.store.resolve();
    expect((await fixture.api.untilEvent(sync_job)).data.records.patients).toBe(200);
    expect(await shown(5)).toMatchObject({ id, phone: '518-555-0177', status: 'active' });
    await fixture.api.untilEvent(await syncStarted());
    expect(await shown(5)).toMatchObject({ id, phone: '518-555-0177', last_name: 'Renamed' });
  });

  test('does not undo a change of an insurance, which the EMR shows in the chart', async () => {
    const page: PausedSync = { read: deferred(), store: deferred() };
    paused_sync = page;
    const sync_job = await syncStarted();
    await page.read.promise;
    const accepted = await fixture.api.call('PATCH', `/v1/patients/${patient(1).mrn}/insurances/85001`, {
      body: { member_id: 'TST990017' },
    });
    await fixture.api.untilEvent(accepted.body.job_id);
    expect(await shown(1)).toMatchObject({ insurance_subscriber_number: 'TST990017' });
    paused_sync = undefined;
    page.store.resolve();
    await fixture.api.untilEvent(sync_job);
    expect(await shown(1)).toMatchObject({ insurance_subscriber_number: 'TST990017' });
  });

  test('makes the next pass list the same changes again, also those that staff made before', async () => {
    const { id } = await shown(6);
    const pass = async () => {
      const [row] = await fixture.owner<{ synced_as_of: Date; started_at: Date; done: boolean }[]>`
        SELECT synced_as_of, started_at, done FROM sync_passes JOIN organizations ON organizations.id = organization_id
         WHERE kind = 'patients' AND org_id = ${fixture.sandbox.org_id}`;
      if (!row) throw new Error('Expected a pass.');
      return row;
    };
    const before = await pass();
    const page: PausedSync = { read: deferred(), store: deferred() };
    paused_sync = page;
    const sync_job = await syncStarted();
    await page.read.promise;
    const accepted = await fixture.api.call('PATCH', `/v1/patients/${id}`, { body: { phone: '518-555-0178' } });
    await fixture.api.untilEvent(accepted.body.job_id);
    paused_sync = undefined;
    page.store.resolve();
    await fixture.api.untilEvent(sync_job);
    expect(await pass()).toMatchObject({ synced_as_of: before.synced_as_of, done: true });
    await fixture.api.untilEvent(await syncStarted());
    const next = await pass();
    expect(next.synced_as_of).toStrictEqual(next.started_at);
    // A sync has read the record again, so that later changes of it are someone else's.
    const own = await until('the record to be read back', async () => {
      const [row] = await fixture.owner<{ written_in: number | null }[]>`
        SELECT written_in FROM patients WHERE id = ${id}`;
      return row;
    });
    expect(own.written_in).toBeNull();
  });
});
