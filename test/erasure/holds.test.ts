import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { settings } from '../../src/catalog/settings/config.ts';
import { erase } from '../../src/product/erasure/erase.ts';
import { liftHold, placeHold } from '../../src/product/erasure/holds.ts';
import {
  purgeEvents,
  purgeJobInputs,
  purgeRequests,
  purgeUnlinkedCaches,
} from '../../src/product/erasure/retention.ts';
import { findHoldScope } from '../../src/product/erasure/scopes.ts';
import type { ErasureScope } from '../../src/product/erasure/tables.ts';
import { run } from '../../src/surfaces/cli/run.ts';
import { newOperator, signInOperator, type TestOperator } from '../harness/operator.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { createPatient, newTenant, type Tenant } from './fixture.ts';

let fixture: TestSandbox;
let owner: TestOperator;
let holder: TestOperator & { email: string };
beforeAll(async () => {
  fixture = await sharedSandbox();
  owner = await signInOperator(fixture);
  holder = await newOperator(fixture, 'read_only', { may_hold: true });
});

const noRecord = async () => {};
const placed_by = { reference: 'Case 17', placed_by: 'test' };

function place(tenant: Tenant, scope: ErasureScope) {
  return fixture.ctx.db.tenant(tenant.id, (tx) => placeHold(tx, scope, placed_by));
}

async function findScope(tenant: Tenant, covers: ErasureScope['of'], patient?: string): Promise<ErasureScope> {
  const organization = covers === 'client' ? undefined : tenant.org_id;
  return findHoldScope(fixture.ctx, tenant.id, { covers, organization, patient });
}

const lift = (tenant: Tenant, hold_id: string) =>
  fixture.ctx.db.tenant(tenant.id, (tx) => liftHold(tx, { client_id: tenant.id, hold_id, lifted_by: 'test' }));

/** Moves everything of a client that has a retention period back in time. */
async function ageAll(tenant: Tenant, days: number): Promise<void> {
  const { owner: sql } = fixture;
  await sql`UPDATE jobs SET finished_at = now() - make_interval(days => ${days}) WHERE client_id = ${tenant.id} AND finished_at IS NOT NULL`;
  await sql`UPDATE events SET created_at = now() - make_interval(days => ${days}) WHERE client_id = ${tenant.id}`;
}

async function countData(tenant: Tenant, mrn: string) {
  const [row] = await fixture.owner<{ events: number; inputs: number }[]>`
    SELECT (SELECT count(*)::int FROM events WHERE client_id = ${tenant.id} AND ${mrn} = ANY (mrns)) AS events,
           (SELECT count(*)::int FROM operations WHERE client_id = ${tenant.id} AND input ->> 'patient_mrn' = ${mrn}) AS inputs`;
  return row ?? { events: 0, inputs: 0 };
}

/** As a sync stores it: the chart is gone, and which one has its contents is known. */
async function mergeChart(tenant: Tenant, merged: { id: string; mrn: string }, into: { id: string }): Promise<void> {
  const { owner: sql } = fixture;
  await sql`INSERT INTO merged_charts (organization_id, ehr_id, client_id, mrn, merged_into)
    SELECT organization_id, ehr_id, client_id, mrn, (SELECT ehr_id FROM patients WHERE id = ${into.id}) FROM patients
     WHERE id = ${merged.id} AND client_id = ${tenant.id}`;
  await sql`DELETE FROM patients WHERE id = ${merged.id}`;
}

async function purge(): Promise<void> {
  await purgeEvents(fixture.ctx, 30);
  await purgeJobInputs(fixture.ctx, 90);
}

describe('while a hold is in force', () => {
  test.each(['client', 'organization', 'patient'] as const)(
    'expired data that a hold of a %s covers is kept until it is lifted',
    async (covers) => {
      const tenant = await newTenant(fixture, `held${covers}`);
      const covered = await createPatient(tenant.linked, `Heldsurname${covers}`);
      const free = await createPatient(tenant.linked, `Freesurname${covers}`);
      const before = { covered: await countData(tenant, covered.mrn), free: await countData(tenant, free.mrn) };
      expect(before.covered.events).toBeGreaterThan(0);
      expect(before.covered.inputs).toBeGreaterThan(0);
      const hold = await place(tenant, await findScope(tenant, covers, covers === 'patient' ? covered.mrn : undefined));
      await ageAll(tenant, 400);
      await purge();
      expect(await countData(tenant, covered.mrn)).toStrictEqual(before.covered);
      const others = await countData(tenant, free.mrn);
      expect(others).toStrictEqual(covers === 'patient' ? { events: 0, inputs: 0 } : before.free);

      expect(await lift(tenant, hold.id)).toMatchObject({ lifted_by: 'test' });
      await purge();
      expect(await countData(tenant, covered.mrn)).toStrictEqual({ events: 0, inputs: 0 });
      expect(await lift(tenant, hold.id), 'only once').toBeUndefined();
    },
  );

  test('data that arrived after the hold was placed is kept too', async () => {
    const tenant = await newTenant(fixture, 'heldlater');
    const { mrn } = await createPatient(tenant.linked, 'Latersurname');
    await place(tenant, await findScope(tenant, 'patient', mrn));
    const call = await tenant.linked.callIn({ patient_mrn: mrn });
    await tenant.linked.untilEvent(call.body.job_id);
    await ageAll(tenant, 400);
    const before = await countData(tenant, mrn);
    await purge();
    expect(await countData(tenant, mrn)).toStrictEqual(before);
  });

  test('data under the MRN of a chart that was merged into a held one is kept', async () => {
    const tenant = await newTenant(fixture, 'heldmerged');
    const survivor = await createPatient(tenant.linked, 'Survivorsurname');
    const merged = await createPatient(tenant.linked, 'Mergedsurname');
    await mergeChart(tenant, merged, survivor);
    const before = await countData(tenant, merged.mrn);
    await place(tenant, await findScope(tenant, 'patient', survivor.mrn));
    await ageAll(tenant, 400);
    await purge();
    expect(await countData(tenant, merged.mrn)).toStrictEqual(before);
  });

  test('data under a new MRN of a held patient is kept', async () => {
    const tenant = await newTenant(fixture, 'heldrenamed');
    const { mrn } = await createPatient(tenant.linked, 'Renamedsurname');
    const hold = await place(tenant, await findScope(tenant, 'patient', mrn));
    // As if the hold had been placed before another identifier became the MRN.
    await fixture.owner`UPDATE legal_holds SET patient_mrn = 'earlier' WHERE id = ${hold.id}`;
    const before = await countData(tenant, mrn);
    await ageAll(tenant, 400);
    await purge();
    expect(await countData(tenant, mrn)).toStrictEqual(before);
  });

  test('the cached records of a practice are kept after its last account was unlinked', async () => {
    const tenant = await newTenant(fixture, 'heldcache');
    const { mrn } = await createPatient(tenant.linked, 'Cachesurname');
    const hold = await place(tenant, await findScope(tenant, 'patient', mrn));
    expect((await tenant.linked.call('DELETE', '/v1/account')).status).toBe(200);
    await fixture.owner`UPDATE accounts SET unlinked_at = now() - interval '100 days' WHERE client_id = ${tenant.id}`;
    const count = async () =>
      (await fixture.owner`SELECT FROM patients WHERE client_id = ${tenant.id} AND mrn = ${mrn}`).length;
    await purgeUnlinkedCaches(fixture.ctx, 30);
    expect(await count()).toBe(1);
    await lift(tenant, hold.id);
    await purgeUnlinkedCaches(fixture.ctx, 30);
    expect(await count()).toBe(0);
  });

  test('the request log of a client is kept, and that of others is deleted', async () => {
    const [tenant, other] = [await newTenant(fixture, 'heldrequests'), await newTenant(fixture, 'otherrequests')];
    const add = (client_id: string) => fixture.owner`
      INSERT INTO requests (id, at, client_id, endpoint, method, status, duration_ms)
      VALUES (overlay(gen_random_uuid()::text PLACING left(first_id_at(now() - interval '3 days')::text, 13) FROM 1 FOR 13)::uuid,
              now() - interval '3 days', ${client_id}, 'x', 'GET', 200, 1)`;
    const count = async (client_id: string) =>
      (await fixture.owner`SELECT FROM requests WHERE client_id = ${client_id} AND at < now() - interval '2 days'`)
        .length;
    await add(tenant.id);
    await add(other.id);
    const hold = await place(tenant, await findScope(tenant, 'client'));
    await purgeRequests(fixture.ctx, 1);
    expect([await count(tenant.id), await count(other.id)]).toStrictEqual([1, 0]);
    await lift(tenant, hold.id);
    await purgeRequests(fixture.ctx, 1);
    expect(await count(tenant.id)).toBe(0);
  });
});

describe('an erasure', () => {
  test.each([
    ['client', 'client'],
    ['client', 'patient'],
    ['organization', 'client'],
    ['organization', 'patient'],
    ['patient', 'client'],
    ['patient', 'organization'],
    ['patient', 'patient'],
  ] as const)('an erasure of a %s is refused by a hold of a %s, and changes nothing', async (erased, covers) => {
    const tenant = await newTenant(fixture, `erase${erased}${covers}`);
    const { mrn } = await createPatient(tenant.linked, `Erasesurname${erased}${covers}`);
    const hold = await place(tenant, await findScope(tenant, covers, covers === 'patient' ? mrn : undefined));
    const scope = await findScope(tenant, erased, erased === 'patient' ? mrn : undefined);
    const refused = erase({ ...fixture.ctx }, scope, noRecord);
    await expect(refused).rejects.toMatchObject({
      code: 'legal_hold_active',
      message: expect.stringContaining(hold.id),
    });
    await expect(refused).rejects.not.toThrow(new RegExp(`${mrn}|Erasesurname`));
    // Still linked: the accounts are unlinked only for an erasure that may happen.
    expect((await tenant.linked.call('GET', '/v1/patients')).status).toBe(200);
    await lift(tenant, hold.id);
    expect((await erase(fixture.ctx, scope, noRecord)).patients).toBeGreaterThan(0);
  });

  test('an erasure is refused by a hold of any other chart of the patient', async () => {
    const tenant = await newTenant(fixture, 'erasemerged');
    const first = await createPatient(tenant.linked, 'Firstsurname');
    const second = await createPatient(tenant.linked, 'Secondsurname');
    const third = await createPatient(tenant.linked, 'Thirdsurname');
    const scopes = [await findScope(tenant, 'patient', first.mrn), await findScope(tenant, 'patient', third.mrn)];
    await mergeChart(tenant, first, second);
    await mergeChart(tenant, second, third);
    for (const [covered, erased] of [scopes, scopes.toReversed()]) {
      if (!covered || !erased) throw new Error('There are two scopes.');
      const hold = await place(tenant, covered);
      await expect(erase(fixture.ctx, erased, noRecord)).rejects.toMatchObject({ code: 'legal_hold_active' });
      await lift(tenant, hold.id);
    }
  });

  test('an erasure of another patient, practice or client is not affected', async () => {
    const tenant = await newTenant(fixture, 'unaffected');
    const covered = await createPatient(tenant.linked, 'Heldothersurname');
    const other = await createPatient(tenant.linked, 'Othersurname');
    await place(tenant, await findScope(tenant, 'patient', covered.mrn));
    const rows = await erase(fixture.ctx, await findScope(tenant, 'patient', other.mrn), noRecord);
    expect(rows.patients).toBe(1);
    const [stored] = await fixture.owner`SELECT FROM patients WHERE client_id = ${tenant.id} AND mrn = ${covered.mrn}`;
    expect(stored).toBeDefined();
  });

  test('an erasure never deletes what a hold covers that is placed at the same time', async () => {
    const tenant = await newTenant(fixture, 'racing');
    const { mrn } = await createPatient(tenant.linked, 'Racingsurname');
    const scope = await findScope(tenant, 'patient', mrn);
    const [placed, erased] = await Promise.allSettled([place(tenant, scope), erase(fixture.ctx, scope, noRecord)]);
    expect(placed.status).toBe('fulfilled');
    const rows = await fixture.owner`SELECT FROM patients WHERE client_id = ${tenant.id} AND mrn = ${mrn}`;
    // Either the hold came first, or the patient was gone when it was placed.
    expect(rows).toHaveLength(erased.status === 'rejected' ? 1 : 0);
  });

  test.each(['client', 'organization'] as const)('a hold of a %s that was erased is refused', async (erased) => {
    const tenant = await newTenant(fixture, `gone${erased}`);
    const scope = await findScope(tenant, erased);
    await erase(fixture.ctx, scope, noRecord);
    await expect(place(tenant, scope)).rejects.toMatchObject({ code: 'record_not_found' });
  });

  test('the dashboard names the hold and not the patient when it refuses an erasure', async () => {
    const tenant = await newTenant(fixture, 'dashboardheld');
    const { mrn, id } = await createPatient(tenant.linked, 'Dashboardsurname');
    const hold = await place(tenant, await findScope(tenant, 'patient', mrn));
    const path = `clients/${tenant.client_id}/organizations/${tenant.organization_id}/patients/${id}/erase`;
    const { status, body } = await owner.post(path, { dry_run: false });
    expect(status).toBe(409);
    expect(body).toMatchObject({ code: 'legal_hold_active', message: expect.stringContaining(hold.id) });
    expect(JSON.stringify(body)).not.toMatch(new RegExp(`${mrn}|Dashboardsurname`));
  });
});

describe('the permission', () => {
  test('only operators with it place and lift holds, not even owners; all of it is recorded', async () => {
    const tenant = await newTenant(fixture, 'permission');
    const { mrn, id } = await createPatient(tenant.linked, 'Permissionsurname');
    const path = `clients/${tenant.client_id}/legal-holds`;
    const body = { covers: 'patient', organization: tenant.org_id, patient: id, reference: 'Case 18' };
    const denied = await owner.post(path, body);
    expect(denied).toMatchObject({ status: 403, body: { code: 'legal_hold_not_allowed' } });
    const placed = await holder.post(path, body);
    expect(placed.status, JSON.stringify(placed.body)).toBe(200);
    const { legal_hold } = placed.body;
    expect(legal_hold).toMatchObject({
      ...{ covers: 'patient', org_id: tenant.org_id, patient_id: id, patient_mrn: mrn, reference: 'Case 18' },
      ...{ placed_by: holder.email, lifted_at: null },
    });
    expect((await owner.post(`${path}/${legal_hold.id}/lift`)).status).toBe(403);
    expect((await owner.get(path)).body.legal_holds).toStrictEqual([legal_hold]);
    expect((await holder.post(`${path}/${legal_hold.id}/lift`)).body.legal_hold.lifted_by).toBe(holder.email);
    expect((await holder.post(`${path}/${legal_hold.id}/lift`)).status).toBe(404);
    const records = await fixture.owner`SELECT action, outcome, actor, subject, cardinality(patients) AS patients
      FROM audit_records WHERE client_id = ${tenant.id} AND action LIKE 'dashboard.clients.legal-holds.%'
       AND actor = ${holder.email} ORDER BY id`;
    expect(records).toStrictEqual([
      {
        action: 'dashboard.clients.legal-holds.create',
        outcome: '200',
        actor: holder.email,
        subject: legal_hold.id,
        patients: 1,
      },
      {
        action: 'dashboard.clients.legal-holds.lift',
        outcome: '200',
        actor: holder.email,
        subject: legal_hold.id,
        patients: 1,
      },
      expect.objectContaining({ action: 'dashboard.clients.legal-holds.lift', outcome: '404' }),
    ]);
    expect(
      (
        await fixture.owner`SELECT FROM audit_records WHERE client_id = ${tenant.id}
      AND action = 'dashboard.clients.legal-holds.create' AND outcome = '403'`
      ).length,
    ).toBe(1);
  });

  test('an owner gives the permission, and the operator has it after signing in again', async () => {
    const operator = await newOperator(fixture, 'read_only');
    expect((await operator.get('session')).body.session.operator.may_hold).toBe(false);
    expect((await owner.patch(`operators/${operator.id}`, { may_hold: true })).status).toBe(200);
    expect((await operator.get('session')).body.session, 'signed out').toBeNull();
    const again = await signInOperator(fixture, operator);
    expect((await again.get('session')).body.session.operator.may_hold).toBe(true);
  });

  test.each([
    [{ covers: 'client', organization: 'x' }, 'organization'],
    [{ covers: 'organization' }, 'organization'],
    [{ covers: 'patient', organization: 'ORG' }, 'patient'],
    [{ covers: 'organization', organization: 'ORG', patient: 'x' }, 'patient'],
  ])('a hold that is described as %j is refused', async (body, field) => {
    const tenant = await newTenant(fixture, 'describe');
    const sent = {
      ...body,
      ...('organization' in body && body.organization === 'ORG' && { organization: tenant.org_id }),
      reference: 'Case',
    };
    const response = await holder.post(`clients/${tenant.client_id}/legal-holds`, sent);
    expect(response).toMatchObject({ status: 400, body: { code: 'invalid_field', field } });
  });

  test('an organization or patient of another client is not found', async () => {
    const [tenant, other] = [await newTenant(fixture, 'mine'), await newTenant(fixture, 'theirs')];
    const { id } = await createPatient(other.linked, 'Theirsurname');
    const path = `clients/${tenant.client_id}/legal-holds`;
    const foreign = { covers: 'organization', organization: other.organization_id, reference: 'x' };
    expect((await holder.post(path, foreign)).status).toBe(404);
    const patient = { covers: 'patient', organization: tenant.org_id, patient: id, reference: 'x' };
    expect((await holder.post(path, patient)).status).toBe(404);
    const theirs = await place(other, await findScope(other, 'client'));
    expect((await holder.post(`${path}/${theirs.id}/lift`)).status).toBe(404);
    await lift(other, theirs.id);
  });
});

/** Runs a command in this process. */
async function command(...args: string[]): Promise<{ code: number | string; stdout: string; stderr: string }> {
  for (const name of Object.keys(settings)) vi.stubEnv(name, fixture.env[name] ?? '');
  const stdout = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const restore = () => {
    vi.unstubAllEnvs();
    stdout.mockRestore();
    stderr.mockRestore();
    process.exitCode = undefined;
  };
  onTestFinished(restore);
  await run(args, () => import('../../src/main.ts'));
  const result = {
    code: process.exitCode ?? 0,
    stdout: stdout.mock.calls.join(''),
    stderr: stderr.mock.calls.join(''),
  };
  restore();
  return result;
}

describe('periods of a client', () => {
  const path = (tenant: Tenant) => `clients/${tenant.client_id}/retention`;

  test('a client’s own period applies in place of the setting’s, and only to that client', async () => {
    const [tenant, other] = [await newTenant(fixture, 'ownperiod'), await newTenant(fixture, 'settingperiod')];
    const patients = [
      await createPatient(tenant.linked, 'Ownsurname'),
      await createPatient(other.linked, 'Settingsurname'),
    ];
    const count = async () => [
      await countData(tenant, patients[0]?.mrn ?? ''),
      await countData(other, patients[1]?.mrn ?? ''),
    ];
    const before = await count();
    const changed = await owner.patch(path(tenant), { events: 5, job_inputs: 5 });
    expect(changed.body.periods).toContainEqual({
      ...{ data: 'events', label: 'Events, payloads and delivery attempts' },
      ...{ days: 5, own_days: 5, installation_days: 30, days_max: 30 },
    });
    await ageAll(tenant, 6);
    await ageAll(other, 6);
    await purge();
    expect(await count()).toStrictEqual([{ events: 0, inputs: 0 }, before[1]]);
    const [record] = await fixture.owner`SELECT detail FROM audit_records
      WHERE client_id = ${tenant.id} AND action = 'dashboard.clients.retention.update'`;
    expect(record?.detail).toStrictEqual({ periods: { events: 5, job_inputs: 5 } });

    expect((await owner.patch(path(tenant), { events: null })).body.periods[0]).toMatchObject({
      days: 30,
      own_days: null,
    });
  });

  test('a longer period keeps what the setting would delete', async () => {
    const tenant = await newTenant(fixture, 'longperiod');
    const { mrn } = await createPatient(tenant.linked, 'Longsurname');
    expect((await owner.patch(path(tenant), { job_inputs: 3_650 })).status).toBe(200);
    await fixture.owner`UPDATE jobs SET finished_at = now() - interval '400 days' WHERE client_id = ${tenant.id} AND finished_at IS NOT NULL`;
    await purgeJobInputs(fixture.ctx, 90);
    expect((await countData(tenant, mrn)).inputs).toBeGreaterThan(0);
  });

  test('a period of the request log and of unlinked practices applies', async () => {
    const tenant = await newTenant(fixture, 'otherperiods');
    expect((await owner.patch(path(tenant), { requests: 2, unlinked_records: 3 })).status).toBe(200);
    await fixture.owner`INSERT INTO requests (id, at, client_id, endpoint, method, status, duration_ms)
      VALUES (overlay(gen_random_uuid()::text PLACING left(first_id_at(now() - interval '4 days')::text, 13) FROM 1 FOR 13)::uuid,
              now() - interval '4 days', ${tenant.id}, 'x', 'GET', 200, 1)`;
    await purgeRequests(fixture.ctx, 7);
    expect(
      await fixture.owner`SELECT FROM requests WHERE client_id = ${tenant.id} AND at < now() - interval '3 days'`,
    ).toStrictEqual([]);
    expect((await tenant.linked.call('DELETE', '/v1/account')).status).toBe(200);
    await fixture.owner`UPDATE accounts SET unlinked_at = now() - interval '4 days' WHERE client_id = ${tenant.id}`;
    await purgeUnlinkedCaches(fixture.ctx, 30);
    expect(await fixture.owner`SELECT FROM providers WHERE client_id = ${tenant.id}`).toStrictEqual([]);
    const { stdout } = await command('disposals', '--client', tenant.client_id, '--format', 'json');
    expect(JSON.parse(stdout).disposals).toStrictEqual(
      expect.arrayContaining([
        expect.objectContaining({ data: 'requests', rule: 'client_period', days: 2, rows: expect.any(Number) }),
        expect.objectContaining({ data: 'unlinked_records', rule: 'client_period', days: 3, rows: expect.any(Number) }),
      ]),
    );
  });

  test.each([
    [{ events: 31 }, 'events'],
    [{ requests: 8 }, 'requests'],
  ])('%j is beyond the limits and refused', async (body, field) => {
    const tenant = await newTenant(fixture, 'limits');
    const response = await owner.patch(path(tenant), body);
    expect(response).toMatchObject({ status: 400, body: { code: 'invalid_field', field } });
    expect(await fixture.owner`SELECT FROM retention_periods WHERE client_id = ${tenant.id}`).toStrictEqual([]);
  });

  test('only owners change them', async () => {
    const tenant = await newTenant(fixture, 'ownersonly');
    const operator = await newOperator(fixture, 'operator');
    expect((await operator.patch(path(tenant), { events: 5 })).status).toBe(403);
    expect((await operator.get(path(tenant))).status).toBe(200);
  });
});

describe('the report', () => {
  test('deletions of a period and of an erasure are in the report, by day, kind and rule', async () => {
    const tenant = await newTenant(fixture, 'report');
    const { mrn } = await createPatient(tenant.linked, 'Reportsurname');
    const { events } = await countData(tenant, mrn);
    await ageAll(tenant, 400);
    const [all] = await fixture.owner<
      { n: number }[]
    >`SELECT count(*)::int AS n FROM events WHERE client_id = ${tenant.id}`;
    expect(all?.n).toBeGreaterThanOrEqual(events);
    await purge();
    await purge();
    await erase(fixture.ctx, await findScope(tenant, 'patient', mrn), noRecord);
    await erase(fixture.ctx, await findScope(tenant, 'client'), noRecord);
    const today = new Date().toISOString().slice(0, 10);
    const response = await owner.get('disposals');
    expect(response.status, JSON.stringify(response.body)).toBe(200);
    const own = response.body.disposals.filter(
      ({ client_id }: { client_id: string }) => client_id === tenant.client_id,
    );
    const expected = (data: string, rule: string, days: number | null, rows: unknown) =>
      expect.objectContaining({ client_id: tenant.client_id, data, rule, days, rows });
    expect(own).toStrictEqual(
      expect.arrayContaining([
        expected('events', 'setting', 30, all?.n),
        expected('job_inputs', 'setting', 90, expect.any(Number)),
        expected('patients', 'erase_patient', null, 1),
        expected('clients', 'erase_client', null, 1),
      ]),
    );
    expect(JSON.stringify(own)).not.toMatch(new RegExp(`${mrn}|Reportsurname`));
    const days = new Set(own.map(({ day }: { day: string }) => day));
    expect([...days].every((day) => day === today || Date.parse(String(day)) > Date.now() - 2 * 86_400_000)).toBe(true);

    const csv = await owner.get(`disposals.csv?since=${today}`);
    expect(csv.body).toMatch(/^"day","client_id","data","rule","days","rows","first_at","last_at"\r?\n/);
    expect(csv.body).toContain(`"${tenant.client_id}","events","setting","30","${all?.n}",`);
    const printed = await command('disposals', '--format', 'csv', '--until', today);
    expect(printed.stdout).toContain(`"${tenant.client_id}","clients","erase_client","","1",`);
    expect((await owner.get('disposals?until=2001-01-01')).body.disposals).toStrictEqual([]);
  });

  test('a period that is no period is refused', async () => {
    expect((await owner.get('disposals?since=2031-02-30')).status).toBe(400);
    expect((await owner.get('disposals?since=2031-03-03&until=2031-03-02')).status).toBe(400);
    expect((await command('disposals', '--since', 'yesterday')).code).toBe(1);
  });

  test('the report is for owners, because it is about all clients', async () => {
    const operator = await newOperator(fixture, 'operator');
    expect((await operator.get('disposals')).status).toBe(403);
    expect((await operator.get('disposals.csv')).status).toBe(403);
  });
});

test('the command line sets periods, and places, lists and lifts holds, and records all of it', async () => {
  const tenant = await newTenant(fixture, 'commands');
  const { mrn, id } = await createPatient(tenant.linked, 'Commandssurname');
  const client = ['--client', tenant.client_id];
  const set = await command('retention', ...client, 'events=14', 'job_inputs=365');
  expect(set).toMatchObject({ code: 0, stderr: '' });
  expect(set.stdout).toMatch(/^events +14 +client +30 +1 to 30$/m);
  expect((await command('retention', ...client, 'events=default')).stdout).toMatch(/^events +30 +setting/m);
  expect(await command('retention', ...client, 'events=99')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('from 1 to 30'),
  });
  expect(await command('retention', ...client, 'everything=1')).toMatchObject({ code: 1 });

  const options = [...client, '--org', tenant.org_id, '--patient', mrn, '--reference', 'Case 19'];
  const placed = await command('holds', 'place', ...options, '--json');
  const hold_id = JSON.parse(placed.stdout).legal_hold.id;
  const listed = await command('holds', 'list', ...client);
  expect(listed.stdout).toContain(`${hold_id}  patient`);
  expect(listed.stdout).not.toContain(mrn);
  const refused = await command('erase', 'patient', ...options.slice(0, 6), '--yes');
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(`legal hold ${hold_id}`) });
  expect(refused.stderr).not.toContain(mrn);
  expect((await command('holds', 'lift', hold_id, ...client)).stdout).toContain('is lifted');
  expect((await command('holds', 'lift', hold_id, ...client)).code).toBe(1);
  expect((await command('holds', 'place', ...client, '--patient', id, '--reference', 'x')).stderr).toContain(
    '--patient needs --org',
  );
  expect((await command('holds', 'place', ...client)).stderr).toContain('--reference is required');
  const records = await fixture.owner`SELECT action, outcome, cardinality(patients) AS patients FROM audit_records
    WHERE client_id = ${tenant.id} AND actor = 'command line' ORDER BY id`;
  expect(records).toStrictEqual([
    { action: 'retention.set', outcome: 'changed', patients: 0 },
    { action: 'retention.set', outcome: 'changed', patients: 0 },
    { action: 'legal_hold.place', outcome: 'placed', patients: 1 },
    { action: 'legal_hold.list', outcome: 'listed', patients: 1 },
    { action: 'legal_hold.lift', outcome: 'lifted', patients: 1 },
  ]);
});
