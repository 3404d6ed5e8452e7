import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { firstIdAt, newId } from '../../src/catalog/ids.ts';
import { alert_codes } from '../../src/product/alerts/catalogue.ts';
import { findProblems } from '../../src/product/alerts/conditions.ts';
import { evaluateAlerts } from '../../src/product/alerts/evaluateAlerts.ts';
import type { CollectorBacklog } from '../../src/product/audit/collector.ts';
import { sealAudit } from '../../src/product/audit/seals.ts';
import { verifyIfDue } from '../../src/product/audit/verification.ts';
import { readQueueDepth } from '../../src/product/jobs/queueDepth.ts';
import { lostCall } from '../dashboard/finishedCalls.ts';
import { newOperator, signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { createAuthority } from '../harness/servers/issuer.ts';
import { respondWith, startReceiver } from '../harness/servers/receiver.ts';
import { setFault, until } from '../journeys/support.ts';
import { withJobsPaused } from '../spec/support/pauseJobs.ts';

let fixture: TestSandbox;
let operator: TestOperator;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  operator = await signInOperator(fixture);
});
afterAll(() => fixture.close());

const opened = new Set<string>();

type Listed = { code: string; summary: string; page: string };

/** The open alerts of a code after an evaluation. One that a scheduled evaluation has just started is waited for. */
async function awaitAlerts(code: string, count: number): Promise<Listed[]> {
  return until(`${count} open alerts of ${code}`, async () => {
    await evaluateAlerts(fixture.ctx);
    const { open } = (await operator.get('alerts')).body.alerts;
    const matches = open.filter((each: Listed) => each.code === code);
    if (matches.length > 0) opened.add(code);
    return matches.length === count && matches;
  });
}

/** Holds the lock of the task that adds records to the chain. */
const withoutSealing = (work: () => Promise<void>) =>
  fixture.owner.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended('chartwire.audit', 0))`;
    await work();
  });

/** Adds a record without a valid MAC, as the owner of the table, and returns its id. */
async function forge(at: Date, columns: Record<string, unknown> = {}): Promise<string> {
  const id = `${firstIdAt(at).slice(0, 12)}${newId().slice(12)}`;
  const row = { id, at, actor_kind: 'system', actor: 'service', action: 'audit.verify', outcome: 'ok', ...columns };
  await fixture.owner`INSERT INTO audit_records ${fixture.owner.values({ ...row, patients: [], mac: Buffer.alloc(32) })}`;
  return id;
}

const attention = async () => (await operator.get('clients/{client}/overview')).body.overview.attention;
const page = (path: string) => `/clients/${fixture.sandbox.client_id}${path}`;

test('an installation without problems has no open alerts', async () => {
  await evaluateAlerts(fixture.ctx);
  const { alerts } = (await operator.get('alerts')).body;
  expect(alerts).toMatchObject({ channels: [], quiet_hours: null, digest: null, open: [] });
});

describe('an alert is open', () => {
  test('an alert is open while an endpoint is disabled because of failures', async () => {
    const receiver = await startReceiver(respondWith(410));
    onTestFinished(receiver.close);
    const headers = { access_token: null };
    const hook = { body: { webhook_url: receiver.url }, headers };
    const { webhook_id } = (await fixture.api.call('POST', '/v1/webhook', hook)).body;
    await fixture.api.callIn();
    expect(await awaitAlerts('endpoint_failing', 1)).toMatchObject([
      {
        summary: expect.stringContaining(`Endpoint ${receiver.url.replace(/\/$/, '')} was disabled after failures.`),
        page: page(`/events/endpoints/${webhook_id}`),
      },
    ]);
    await fixture.api.call('DELETE', `/v1/webhook/${webhook_id}`, { headers });
    await awaitAlerts('endpoint_failing', 0);
  });

  test('an alert is open once an endpoint has been failing for five minutes, but not before, and not if an operator disabled it', async () => {
    const receiver = await startReceiver(respondWith(500));
    onTestFinished(receiver.close);
    const headers = { access_token: null };
    const hook = { body: { webhook_url: receiver.url }, headers };
    const { webhook_id } = (await fixture.api.call('POST', '/v1/webhook', hook)).body;
    await fixture.api.callIn();
    await until('a failed delivery', async () => (await attention()).endpoints.length === 1);
    await awaitAlerts('endpoint_failing', 0);
    await fixture.owner`UPDATE webhook_endpoints SET failing_since = now() - interval '301 seconds'`;
    expect((await awaitAlerts('endpoint_failing', 1))[0]?.summary).toContain('has been failing for five minutes.');
    await fixture.owner`UPDATE webhook_endpoints SET failing_since = NULL`;
    await operator.post(`clients/{client}/webhooks/${webhook_id}/disable`);
    await awaitAlerts('endpoint_failing', 0);
    await fixture.api.call('DELETE', `/v1/webhook/${webhook_id}`, { headers });
  });

  test('an alert is open while the outcome of a write is unknown', async () => {
    const { job_id } = await lostCall(fixture);
    expect(await awaitAlerts('jobs_need_review', 1)).toMatchObject([
      { summary: expect.stringContaining('1 job has an unknown outcome.'), page: page('/jobs?state=unresolved') },
    ]);
    const review = { outcome: 'done', note: 'Found in the EMR' };
    expect((await operator.post(`clients/{client}/jobs/${job_id}/review`, review)).status).toBe(200);
    await awaitAlerts('jobs_need_review', 0);
  });

  test('an alert is open while removals are held back and not confirmed; the overview shows it', async () => {
    const { body } = await fixture.api.call('GET', '/v1/pharmacies');
    for (const { ehr_id } of body.pharmacies.slice(0, 11)) {
      await fixture.api.control('DELETE', `/control/pharmacies/${ehr_id}`);
    }
    await fixture.api.sync();
    const [alert] = await awaitAlerts('sync_held_back', 1);
    expect(alert).toMatchObject({
      summary: expect.stringContaining(`practice ${fixture.sandbox.org_id} no longer lists 11 of 15 pharmacies.`),
      page: page('/accounts'),
    });
    expect((await attention()).alerts).toMatchObject([{ code: 'sync_held_back' }]);
    const [{ id = '' } = {}] = await fixture.owner<{ id: string }[]>`SELECT id FROM organizations`;
    await operator.post(`clients/{client}/organizations/${id}/removals/pharmacies/confirm`);
    await awaitAlerts('sync_held_back', 0);
    expect((await attention()).alerts).toStrictEqual([]);
  });

  test('an alert is open while the last sync has failed or the running one makes no progress; the overview shows the sync, not the alert', async () => {
    const { owner, api, sandbox } = fixture;
    const done = await api.sync();
    await awaitAlerts('sync_failing', 0);
    const [failed] = await owner<{ id: number }[]>`
      INSERT INTO jobs (client_id, organization_id, account_id, operation_id, type, lane, state, finished_at, error)
      SELECT client_id, organization_id, account_id, operation_id, 'sync', lane, 'failed', now(),
             '{"code": "not_permitted", "message": "The user may not list claims."}' FROM jobs WHERE id = ${done}
      RETURNING id::int`;
    expect(await awaitAlerts('sync_failing', 1)).toMatchObject([
      { summary: `The sync of practice ${sandbox.org_id} failed.`, page: page(`/jobs/${failed?.id}`) },
    ]);
    expect(await attention()).toMatchObject({ alerts: [], syncs: [{ job_id: failed?.id, failed: true }] });
    await api.sync();
    await awaitAlerts('sync_failing', 0);
    await withJobsPaused(fixture, async () => {
      const { organizations } = (await operator.get('clients/{client}/accounts')).body;
      const requested = await operator.post(`clients/{client}/accounts/${organizations[0].accounts[0].id}/sync`, {});
      const { job_id } = requested.body;
      await owner`UPDATE jobs SET created_at = now() - interval '1 hour' WHERE id = ${job_id}`;
      await owner`INSERT INTO job_steps (job_id, client_id, attempt, name, kind, at)
        SELECT id, client_id, 1, 'started', 'note', now() - interval '40 minutes' FROM jobs WHERE id = ${job_id}`;
      expect(await awaitAlerts('sync_failing', 1)).toMatchObject([
        { summary: `The sync of practice ${sandbox.org_id} has read nothing for half an hour.` },
      ]);
      expect(await attention()).toMatchObject({ alerts: [], syncs: [{ job_id, failed: false }] });
    });
    await awaitAlerts('sync_failing', 0);
  });

  test('an alert is open while an account must be re-linked; the overview shows the account, not the alert', async () => {
    await fixture.api.control('POST', '/control/sessions/expire', { mode: 'link' });
    await fixture.api.callIn();
    const [alert] = await awaitAlerts('account_login_required', 1);
    expect(alert).toMatchObject({
      // There is only one client, so it is not named.
      summary: expect.stringMatching(`^Account \\S+ of practice ${fixture.sandbox.org_id}\\.$`),
      page: expect.stringMatching(/\/accounts\?account=[0-9a-f]{32}$/),
    });
    expect(await attention()).toMatchObject({ alerts: [], accounts: [{ org_id: fixture.sandbox.org_id }] });
    await fixture.api.link({ access_token: fixture.sandbox.access_token });
    await awaitAlerts('account_login_required', 0);
  });

  test('an alert is open while a list of practices cannot be read again, or lacks too many', async () => {
    const name = 'https://lists.example.org/practices.json?key=secret';
    await fixture.owner`INSERT INTO directory_sources (id, name, url, failing_since)
      VALUES (gen_random_uuid(), ${name}, ${name}, now())`;
    const summary = 'The list of practices at https://lists.example.org/practices.json could not be read.';
    expect(await awaitAlerts('directory_failing', 1)).toMatchObject([{ summary, page: '/' }]);
    await fixture.owner`UPDATE directory_sources SET failing_since = NULL, held_missing = 30, held_stored = 40`;
    expect(await awaitAlerts('directory_failing', 1)).toMatchObject([
      { summary: 'The list of practices at https://lists.example.org/practices.json lacks 30 of 40 practices.' },
    ]);
    await fixture.owner`DELETE FROM directory_sources`;
    await awaitAlerts('directory_failing', 0);
  });

  test('an alert is open while a secret is about to expire', async () => {
    const { client_id } = fixture.sandbox;
    const expires_at = new Date(Date.now() + 13 * 86_400_000).toISOString();
    await operator.post(`clients/${client_id}/keys`, { access: 'read_only', expires_at });
    expect(await awaitAlerts('secret_expiring', 1)).toMatchObject([{ page: `/settings/clients/${client_id}` }]);
    await fixture.owner`UPDATE client_secrets SET revoked_at = now() WHERE expires_at IS NOT NULL`;
    await awaitAlerts('secret_expiring', 0);
  });

  test('an alert is open from 30 days before a client certificate expires until it is replaced or removed', async () => {
    const { client_id } = fixture.sandbox;
    const authority = createAuthority('Authority');
    const issue = (days: number) => authority.issue({ name: 'x', valid_to: new Date(Date.now() + days * 86_400_000) });
    const headers = { access_token: null };
    const hook = { body: { webhook_url: 'https://receiver.example.org/hook' }, headers };
    const { webhook_id } = (await fixture.api.call('POST', '/v1/webhook', hook)).body;
    const setCertificate = async (days: number) => {
      const { certificate, private_key } = issue(days);
      const path = `clients/{client}/webhooks/${webhook_id}/certificate`;
      expect((await operator.post(path, { certificate, private_key })).status).toBe(200);
    };
    await setCertificate(31);
    await awaitAlerts('certificate_expiring', 0);
    await setCertificate(29);
    expect(await awaitAlerts('certificate_expiring', 1)).toMatchObject([
      {
        summary: expect.stringMatching(
          /^The certificate for endpoint https:\/\/receiver\.example\.org\/hook expires on [\d-]+\.$/,
        ),
        page: page(`/events/endpoints/${webhook_id}`),
      },
    ]);
    await setCertificate(365);
    await awaitAlerts('certificate_expiring', 0);
    await fixture.api.call('DELETE', `/v1/webhook/${webhook_id}`, { headers });

    const { certificate, private_key: certificate_key } = issue(10);
    const credentials = { way: 'client_secret', client_id: 'c', client_secret: 's' };
    const app = { name: 'Hillside Clinic', emr: 'fhir', hosts: ['emr.example.org'], credentials };
    const added = await operator.post('clients/{client}/emr-apps', { ...app, certificate, certificate_key });
    expect(added.status, JSON.stringify(added.body)).toBe(200);
    expect(await awaitAlerts('certificate_expiring', 1)).toMatchObject([
      {
        summary: expect.stringContaining('The certificate for the EMR app Hillside Clinic expires on'),
        page: `/settings/clients/${client_id}`,
      },
    ]);
    await fixture.owner`UPDATE emr_apps SET certificate_expires_at = now() - interval '1 day'`;
    expect((await awaitAlerts('certificate_expiring', 1))[0]?.summary).toContain(' expired on ');
    await operator.patch(`clients/{client}/emr-apps/${added.body.id}`, { certificate: null });
    await awaitAlerts('certificate_expiring', 0);
    await operator.delete(`clients/{client}/emr-apps/${added.body.id}`);
  });

  test('an alert is open while an open transaction delays the change feed', async () => {
    await awaitAlerts('change_feed_stalled', 0);
    await fixture.owner.begin(async (tx) => {
      await tx`UPDATE claims SET seen_in = seen_in WHERE id = (SELECT id FROM claims LIMIT 1)`;
      await fixture.owner`DELETE FROM orders WHERE id = (SELECT id FROM orders LIMIT 1)`;
      await fixture.owner`UPDATE record_changes SET changed_at = now() - interval '70 seconds' WHERE deleted`;
      expect(await awaitAlerts('change_feed_stalled', 1)).toMatchObject([
        { summary: expect.stringMatching(/^The change feed has not shown a change for \d+ seconds\.$/), page: '/' },
      ]);
    });
    await awaitAlerts('change_feed_stalled', 0);
  });

  test('an alert is open while work that could run does not', async () => {
    // A job that ended meanwhile would make its lane ready anew.
    await until('no job to run', async () => (await fixture.owner`SELECT FROM lanes`).length === 0);
    await withJobsPaused(fixture, async () => {
      await fixture.api.callIn();
      await awaitAlerts('queue_stalled', 0);
      await fixture.owner`UPDATE lanes SET ready_at = now() - interval '6 minutes' WHERE ready_at IS NOT NULL`;
      expect(await awaitAlerts('queue_stalled', 1)).toMatchObject([
        { summary: 'A job that could run has waited for 6 minutes.', page: '/' },
      ]);
    });
    await awaitAlerts('queue_stalled', 0);
  });

  test('an alert is open while an EMR has not responded for five minutes and jobs are retried; the overview and the accounts page show the outage itself', async () => {
    const { org_id } = fixture.sandbox;
    await setFault(fixture.api, '*', 'error_500', { times: 1000 });
    onTestFinished(async () => void (await fixture.api.control('DELETE', '/control/faults')));
    await fixture.api.callIn();
    await fixture.api.callIn({ patient_mrn: 'LK100002' });
    await until('two failed attempts', async () => {
      const retried = await fixture.owner`SELECT FROM jobs WHERE retry_since IS NOT NULL AND finished_at IS NULL`;
      return retried.length === 2;
    });
    await awaitAlerts('emr_unreachable', 0);
    await fixture.owner`UPDATE emr_outages SET since = now() - interval '301 seconds'`;
    expect(await awaitAlerts('emr_unreachable', 1)).toMatchObject([
      {
        summary: `The EMR of practice ${org_id} has not responded for 5 minutes. 2 jobs are being retried.`,
        page: expect.stringMatching(/\/jobs\?state=retrying&organization_id=[0-9a-f]{32}$/),
      },
    ]);
    const { alerts, outages } = await attention();
    // Not twice.
    expect(alerts.filter(({ code }: Listed) => code === 'emr_unreachable')).toStrictEqual([]);
    const words = 'Larkspur responded with an error (500).';
    const outage = { silent: true, retrying: 2, reason: words };
    expect(outages).toMatchObject([{ org_id, emr_name: 'Larkspur', ...outage }]);
    expect(Date.parse(outages[0].since)).toBeLessThanOrEqual(Date.now() - 301_000);
    const { organization_id } = outages[0];
    const { rows } = (await operator.get(`clients/{client}/jobs?state=retrying&organization_id=${organization_id}`))
      .body;
    expect(rows).toHaveLength(2);
    const { organizations } = (await operator.get('clients/{client}/accounts')).body;
    expect(organizations).toMatchObject([{ org_id, outage }]);
    await fixture.api.control('DELETE', '/control/faults');
    await fixture.owner`UPDATE lanes SET ready_at = now() WHERE ready_at > now()`;
    await awaitAlerts('emr_unreachable', 0);
    await until('the outage to end', async () => (await attention()).outages.length === 0);
  });

  test('no alert is open for an EMR that nobody waits for; one that is open stays until the EMR responds', async () => {
    const { owner } = fixture;
    await withJobsPaused(fixture, async () => {
      const { body } = await fixture.api.callIn();
      await owner`INSERT INTO emr_outages (account_id, client_id, since)
        SELECT account_id, client_id, now() - interval '1 hour' FROM jobs WHERE id = ${body.job_id}
        ON CONFLICT (account_id) DO UPDATE SET since = excluded.since, last_failure_at = now()`;
      await awaitAlerts('emr_unreachable', 0);
      await owner`UPDATE jobs SET retry_since = now() WHERE id = ${body.job_id}`;
      await awaitAlerts('emr_unreachable', 1);
      await owner`UPDATE jobs SET retry_since = NULL WHERE id = ${body.job_id}`;
      await awaitAlerts('emr_unreachable', 1);
    });
    // The job that ran has got its response.
    await awaitAlerts('emr_unreachable', 0);
  });

  test('an alert is open while a link fails, with address and cause, until the account is linked', async () => {
    const { api, owner } = fixture;
    const address = 'http://nowhere.localhost:9/fhir';
    const createToken = async (body: object) =>
      (await api.call('POST', '/link/token/create', { body, headers: { access_token: null } })).body.token;
    const nowhere = { org_id: 'nowhere', emr_name: 'fhir', emr_instance_domain: address };
    for (const user_id of ['first', 'second']) {
      const token = await createToken({ ...nowhere, user_id });
      const as_link = { access_token: null, client_id: null, client_secret: null, 'link-token': token };
      // Twice: the second attempt does not start the five minutes again.
      for (let attempt = 0; attempt < 2; attempt++) {
        const opened = await api.call('GET', '/link/v1/session', { headers: as_link });
        expect(opened.status).toBe(200);
        await owner`UPDATE connection_reports SET failing_since = failing_since - interval '3 minutes'`;
      }
    }
    expect(await awaitAlerts('link_failing', 1)).toMatchObject([
      {
        summary: `2 links to ${address} failed: nowhere.localhost:9 could not be found (ENOTFOUND).`,
        page: expect.stringMatching(new RegExp(`^${page('/accounts/reports/[0-9a-f]{32}')}$`)),
      },
    ]);
    expect(await attention()).toMatchObject({ alerts: [], links: [{ address, links: 2 }] });
    // Their accounts are linked by other links.
    for (const user_id of ['first', 'second']) await api.link({ user_id, org_id: 'nowhere' });
    await awaitAlerts('link_failing', 0);
  });

  test('an alert is open while no process runs jobs', async () => {
    await awaitAlerts('no_workers', 0);
    await fixture.owner`UPDATE processes SET seen_at = now() - interval '61 seconds'`;
    expect(await awaitAlerts('no_workers', 1)).toMatchObject([{ page: '/' }]);
    await awaitAlerts('no_workers', 0);
  });

  test('an alert is open while a transaction is older than 15 minutes', async () => {
    await awaitAlerts('old_transaction', 0);
    // Nobody waits 15 minutes: the clock by which ages are measured goes 14 minutes and 55 seconds ahead.
    const [{ definition = '' } = {}] = await fixture.owner<{ definition: string }[]>`
      SELECT pg_get_functiondef('oldest_transaction_seconds'::regproc) AS definition`;
    onTestFinished(async () => void (await fixture.owner.unsafe(definition)));
    await fixture.owner.unsafe(
      definition.replace('clock_timestamp()', `clock_timestamp() + interval '14 minutes 55 seconds'`),
    );
    await awaitAlerts('old_transaction', 0);
    await fixture.owner.begin(async (tx) => {
      // A transaction that has neither written nor read does not keep dead rows from being removed.
      await tx`SELECT pg_current_xact_id()`;
      expect(await awaitAlerts('old_transaction', 1)).toMatchObject([
        { summary: 'A transaction has been open for 15 minutes.', page: '/settings/alerts' },
      ]);
    });
    await awaitAlerts('old_transaction', 0);
  });

  test('an alert is open while a record has not joined the chain of the audit log for five minutes', async () => {
    await withoutSealing(async () => {
      await operator.get('clients/{client}');
      await awaitAlerts('audit_sealing_stalled', 0);
      const id = await forge(new Date(Date.now() - 301_000));
      expect(await awaitAlerts('audit_sealing_stalled', 1)).toMatchObject([
        { summary: 'The oldest audit record outside of the chain is 5 minutes old.', page: '/audit' },
      ]);
      await fixture.owner`DELETE FROM audit_records WHERE id = ${id}`;
      await awaitAlerts('audit_sealing_stalled', 0);
    });
  });

  // Last: it changes the audit log for good.
  test('an alert is open after the audit log was changed, until a verification finds nothing', async () => {
    await sealAudit(fixture.ctx);
    await awaitAlerts('audit_verification_failed', 0);
    const verify = async () => {
      // The last verification is too recent for another one.
      const audit_verify_hours = 0;
      await verifyIfDue({ ...fixture.ctx, config: { ...fixture.ctx.config, audit_verify_hours } });
    };
    const [record] = await fixture.owner<{ id: string; actor: string }[]>`
      SELECT id, actor FROM audit_records WHERE position IS NOT NULL ORDER BY position LIMIT 1`;
    await fixture.owner`UPDATE audit_records SET actor = 'somebody else' WHERE id = ${record?.id ?? ''}`;
    await verify();
    expect(await awaitAlerts('audit_verification_failed', 1)).toMatchObject([
      { summary: 'The audit log failed its verification.', page: '/audit' },
    ]);
    await withoutSealing(async () => {
      const forged = [await forge(new Date('2100-01-01')), await forge(new Date())];
      forged.push(await forge(new Date(), { action: 'audit.reanchor', outcome: 'accepted' }));
      await awaitAlerts('audit_verification_failed', 1);
      await fixture.owner`DELETE FROM audit_records WHERE id = ANY (${forged}::uuid[])`;
    });
    const [last] = await fixture.owner<{ id: string }[]>`
      SELECT id FROM audit_records WHERE action = 'audit.verify' AND outcome = 'failed' ORDER BY id DESC LIMIT 1`;
    await fixture.owner`UPDATE audit_records SET outcome = 'ok' WHERE id = ${last?.id ?? ''}`;
    await awaitAlerts('audit_verification_failed', 1);
    await fixture.owner`UPDATE audit_records SET outcome = 'failed' WHERE id = ${last?.id ?? ''}`;
    const exported = { client_id: null, actor_kind: 'system', actor: 'command line', action: 'audit.verify' } as const;
    await fixture.ctx.audit.record({ ...exported, outcome: 'ok', detail: { export: true, checked: 1 } });
    await awaitAlerts('audit_verification_failed', 1);
    await fixture.owner`UPDATE audit_records SET actor = ${record?.actor ?? ''} WHERE id = ${record?.id ?? ''}`;
    await verify();
    await awaitAlerts('audit_verification_failed', 0);
  });
});

test('an alert is open for 24 hours after a destination was added or changed, but not in the sandbox', async () => {
  const headers = { access_token: null };
  const hook = { body: { webhook_url: 'https://new.example.org/in?key=5' }, headers };
  const { webhook_id } = (await fixture.api.call('POST', '/v1/webhook', hook)).body;
  const { client } = (await operator.get('clients/{client}')).body;
  await operator.patch(`clients/{client}/webhooks/${webhook_id}`, { webhook_url: 'https://moved.example.org/in' });
  await operator.patch('clients/{client}', { callback_urls: ['https://app.example.org/linked'] });
  await operator.patch('clients/{client}', { callback_urls: client.callback_urls });
  await fixture.api.call('DELETE', `/v1/webhook/${webhook_id}`, { headers });
  const findSubjects = async (sandbox: boolean) => {
    const queues = await readQueueDepth(fixture.ctx.db);
    const problems = await findProblems(fixture.ctx.db.system, queues, {
      ...fixture.ctx,
      config: { ...fixture.ctx.config, sandbox },
    });
    return problems.filter(({ code }) => code === 'destination_changed').map(({ summary }) => summary);
  };
  const added = (what: string) => `${what} was added.`;
  expect(await findSubjects(false)).toStrictEqual(
    expect.arrayContaining([
      added('Webhook URL https://new.example.org/in'),
      added('Webhook URL https://moved.example.org/in'),
      added('Callback URL https://app.example.org/linked'),
    ]),
  );
  expect(await findSubjects(true)).toStrictEqual([]);
  opened.add('destination_changed');
});

test('an alert is open while an EMR names an endpoint that the account’s EMR app does not allow', async () => {
  await fixture.owner`UPDATE accounts SET unexpected_endpoint = 'https://elsewhere.example.org/token'
    WHERE user_id = ${fixture.sandbox.user_id}`;
  const [alert] = await awaitAlerts('emr_endpoint_changed', 1);
  expect(alert).toMatchObject({ summary: expect.stringContaining('now names https://elsewhere.example.org/token.') });
  await fixture.owner`UPDATE accounts SET unexpected_endpoint = NULL`;
  await awaitAlerts('emr_endpoint_changed', 0);
});

test('a new owner is reported for a day, with the address and the page where access is changed', async () => {
  const { email } = await newOperator(fixture, 'owner');
  const [alert] = await awaitAlerts('owner_added', 1);
  expect(alert).toMatchObject({ summary: `${email} became an owner.`, page: '/settings/operators' });
  await fixture.owner`UPDATE operators SET owner_since = owner_since - interval '24 hours'`;
  await awaitAlerts('owner_added', 0);
});

test('an alert is open while documents wait for the scanner', async () => {
  await fixture.owner`INSERT INTO document_scanner_failures (problem, since, failure)
    VALUES ('unavailable', now() - interval '2 minutes', 'The scanner at scanner:3310 did not respond in time.')`;
  expect(await awaitAlerts('scanner_unavailable', 1)).toMatchObject([
    { summary: 'Documents have not been scanned for 2 minutes. The scanner at scanner:3310 did not respond in time.' },
  ]);
  await fixture.owner`UPDATE document_scanner_failures SET last_at = now() - interval '6 minutes'`;
  await awaitAlerts('scanner_unavailable', 0);
});

test('an alert is open while the collector lacks an audit record for more than five minutes', async () => {
  const audit_collector_url = { protocol: 'syslog', host: 'siem', port: 6514, url: 'syslog+tls://siem' } as const;
  const failing = { accepted_s: 10, failing_since: new Date(), failure: 'siem:6514 refused the connection.' };
  const find = async (lag_s: number, configured = true, state: Partial<CollectorBacklog> = failing) => {
    const collector = { waiting: 7, lag_s, ...failing, ...state };
    const queues = { ...(await readQueueDepth(fixture.ctx.db)), collector };
    const config = { ...fixture.ctx.config, ...(configured && { audit_collector_url }) };
    const problems = await findProblems(fixture.ctx.db.system, queues, { ...fixture.ctx, config });
    return problems.filter(({ code }) => code === 'audit_collector_lagging').map(({ summary }) => summary);
  };
  expect(await find(301)).toStrictEqual([
    '7 audit records wait for the collector, the oldest for 5 minutes. siem:6514 refused the connection.',
  ]);
  expect(await find(300)).toStrictEqual([]);
  expect(await find(301, false)).toStrictEqual([]);
  const working = { failing_since: null, failure: null };
  expect(await find(86_400, true, { ...working, accepted_s: 300 }), 'it is catching up with an old log').toStrictEqual(
    [],
  );
  for (const accepted_s of [301, null]) {
    expect(await find(86_400, true, { ...working, accepted_s })).toHaveLength(1);
  }
  opened.add('audit_collector_lagging');
});

test('an approval that waits is reported until it is decided, without saying what it is about', async () => {
  const owner = await newOperator(fixture, 'owner');
  const { config } = fixture.ctx;
  fixture.ctx.config = { ...config, four_eyes: ['credentials'] };
  await owner.post('clients/{client}/keys', { label: 'A label' });
  const [alert] = await awaitAlerts('approval_waiting', 1);
  expect(alert).toMatchObject({
    summary: `${owner.email} has requested a credential to be shown or created.`,
    page: '/approvals',
  });
  const [approval] = (await owner.get('approvals')).body.approvals;
  await owner.post(`approvals/${approval.id}/withdraw`);
  fixture.ctx.config = config;
  await awaitAlerts('approval_waiting', 0);
});

/** Those that test/alerts/anomalies.test.ts opens. */
const anomalies = [
  ...['many_patients_read', 'many_reveals', 'many_exports', 'new_sign_in_network', 'sign_ins_refused'],
  'credentials_refused',
];

test('every alert of the catalogue was opened by its condition', () => {
  expect([...opened, ...anomalies].sort()).toStrictEqual([...alert_codes].sort());
});

test('alerts contain no health data', async () => {
  const stored = await fixture.owner<{ text: string }[]>`
    SELECT string_agg(alerts::text, ' ') AS text FROM alerts`;
  const patients = await fixture.owner<{ mrn: string; last_name: string }[]>`
    SELECT mrn, doc ->> 'last_name' AS last_name FROM patients`;
  expect(patients.length).toBeGreaterThan(10);
  const words = new Set(stored[0]?.text.split(/[^\p{L}\p{N}]+/u));
  expect(patients.filter(({ mrn, last_name }) => words.has(mrn) || words.has(last_name))).toStrictEqual([]);
});

test('the page and the test message are for owners, because alerts are about all clients', async () => {
  const other = await newOperator(fixture, 'operator');
  expect((await other.get('alerts')).status).toBe(403);
  expect((await other.post('alerts/test')).status).toBe(403);
  expect((await operator.post('alerts/test')).body).toMatchObject({ results: [] });
});
